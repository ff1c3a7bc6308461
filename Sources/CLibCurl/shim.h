// curl's interface, with its variadic functions once for each type of argument: Swift cannot call variadic C.
//
// They are inline and stand here, not in a C target of ours, so that only those who import this module link with libcurl.
#pragma once

#include <curl/curl.h>

// The parentheses around the names keep curl's type-checking macros away: they want a constant option.

static inline CURLcode gateway_curl_set_long(CURL *easy, CURLoption option, long value) {
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode gateway_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode gateway_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode gateway_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return (curl_easy_setopt)(easy, option, value);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, which have one type.
typedef size_t (*gateway_curl_receiver)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode gateway_curl_set_receiver(CURL *easy, CURLoption option, gateway_curl_receiver receiver) {
    return (curl_easy_setopt)(easy, option, receiver);
}

static inline CURLcode gateway_curl_get_long(CURL *easy, CURLINFO info, long *value) {
    return (curl_easy_getinfo)(easy, info, value);
}

static inline CURLMcode gateway_curlm_set_long(CURLM *multi, CURLMoption option, long value) {
    return (curl_multi_setopt)(multi, option, value);
}

static inline CURLMcode gateway_curlm_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return (curl_multi_setopt)(multi, option, value);
}

static inline CURLMcode gateway_curlm_set_socket_function(CURLM *multi, curl_socket_callback callback) {
    return (curl_multi_setopt)(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

static inline CURLMcode gateway_curlm_set_timer_function(CURLM *multi, curl_multi_timer_callback callback) {
    return (curl_multi_setopt)(multi, CURLMOPT_TIMERFUNCTION, callback);
}

// What a finished transfer reports; Swift would have to reach into a union.
static inline CURLcode gateway_curl_result(const CURLMsg *message) {
    return message->data.result;
}
