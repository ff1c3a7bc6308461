// OpenSSL, and those of its macros that Swift cannot call.
#pragma once

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/// Takes a key of HMAC-SHA256. 1 on success.
static inline int gateway_hmac_sha256_init(EVP_MAC_CTX *context, const unsigned char *key, size_t count) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
    return EVP_MAC_init(context, key, count, parameters);
}

/// TLS 1.2 or later; buffers of idle connections are freed. 1 on success.
static inline int gateway_ssl_ctx_harden(SSL_CTX *context) {
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    return (int)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

/// The name that the peer is asked for (RFC 6066 §3). 1 on success.
static inline int gateway_ssl_set_server_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}

/// Only HTTP/1.1 is spoken (RFC 7301). 0 on success, as OpenSSL has it.
static inline int gateway_ssl_ctx_offer_http1(SSL_CTX *context) {
    static const unsigned char protocols[] = "\x08http/1.1";
    return SSL_CTX_set_alpn_protos(context, protocols, sizeof protocols - 1);
}

/// Sessions that servers offer to resume are given to the callback of `SSL_CTX_sess_set_new_cb`, and kept nowhere else.
static inline void gateway_ssl_ctx_offer_sessions(SSL_CTX *context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}
