// One of the four files that touch OpenSSL's pointers.

import CLibSSL

/// OpenSSL's context (`SSL_CTX`) for connections that trust the same authorities: it has the authorities and the sessions to resume. Can be
/// made on any thread; afterwards it must be used on one thread only.
// SAFETY: the pointer is created in `init`, freed in `deinit`, and used only in the TLS files. OpenSSL's sessions hold their own reference
// to it.
final class TLSContext {
    let pointer: OpaquePointer
    /// In the context, because a resumed session is not verified again: it is valid only for the authorities that verified it.
    let resumable = TLSSessionCache()

    /// Reads and parses the authorities; blocks, for milliseconds with the system's.
    /// - Parameter authorityFile: PEM file of the certificate authorities to trust; nil: the system's.
    /// - Throws: kind `request` when the file cannot be read.
    init(authorityFile: String?) throws(TransferFailure) {
        guard let pointer = SSL_CTX_new(TLS_client_method()) else { throw TransferFailure(kind: .other) }
        self.pointer = pointer
        let isTrusting =
            if let authorityFile {
                SSL_CTX_load_verify_locations(pointer, authorityFile, nil)
            } else {
                SSL_CTX_set_default_verify_paths(pointer)
            }
        guard isTrusting == 1 else {
            // The next call of OpenSSL on this thread must not find the errors.
            ERR_clear_error()
            throw TransferFailure(kind: .request)
        }
        guard gateway_ssl_ctx_harden(pointer) == 1, gateway_ssl_ctx_offer_http1(pointer) == 0 else { throw TransferFailure(kind: .other) }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        gateway_ssl_ctx_offer_sessions(pointer)
        SSL_CTX_sess_set_new_cb(pointer) { session, offered in TLSEngine.keep(offered, of: session) }
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    /// The paths of the system's authorities: a file, and a directory in which OpenSSL looks up each authority when it is first needed.
    static var systemPaths: [String] {
        let defaults = [
            (X509_get_default_cert_file_env(), X509_get_default_cert_file()),
            (X509_get_default_cert_dir_env(), X509_get_default_cert_dir()),
        ]
        // SAFETY: OpenSSL's strings are literals, those of `getenv` belong to the environment; both are copied at once.
        return defaults.compactMap { variable, path in
            (variable.flatMap { getenv($0) } ?? path.map { UnsafeMutablePointer(mutating: $0) }).map { String(cString: $0) }
        }
    }
}
