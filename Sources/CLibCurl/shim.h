// libcurl, and its variadic functions once per kind of argument: Swift cannot call a variadic function of C.
#pragma once

// The type check is a macro around the variadic functions; here each call has one fixed type.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Cast macros, which Swift does not import.
enum {
    GATEWAY_CURL_AUTH_BASIC = CURLAUTH_BASIC,
    GATEWAY_CURL_AUTH_NTLM = CURLAUTH_NTLM,
    GATEWAY_CURL_AUTH_NEGOTIATE = CURLAUTH_NEGOTIATE,
};

static inline CURLcode gateway_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode gateway_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

// NULL resets the option.
static inline CURLcode gateway_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode gateway_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode gateway_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode gateway_curl_set_blob(CURL *handle, CURLoption option, struct curl_blob *value) {
    return curl_easy_setopt(handle, option, value);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, which have one signature.
static inline CURLcode gateway_curl_set_write_callback(CURL *handle, CURLoption option, curl_write_callback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode gateway_curl_set_open_socket_callback(CURL *handle, curl_opensocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode gateway_curl_set_before_request_callback(CURL *handle, curl_prereq_callback value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode gateway_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode gateway_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode gateway_curl_multi_set_socket_callback(CURLM *multi, curl_socket_callback value, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
    return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context) : code;
}

static inline CURLMcode gateway_curl_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback value, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
    return code == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context) : code;
}

static inline CURLSHcode gateway_curl_share(CURLSH *share, curl_lock_data what) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, what);
}
