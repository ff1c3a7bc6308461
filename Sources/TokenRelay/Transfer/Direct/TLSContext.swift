// One of the four files that touch OpenSSL's pointers.

import CLibSSL

/// What sessions with the same trust share: the authorities, and the sessions that servers offer to resume. Made on any thread, afterwards used on
/// one.
// SAFETY: the pointer is created in `init`, freed in `deinit`, and never handed out of the TLS files; sessions hold a reference of
// OpenSSL's own.
final class TLSContext {
    let pointer: OpaquePointer
    /// A resumed session is not verified again: it goes with the authorities that verified it.
    let resumable = ResumableSessions()

    /// Reads and parses the authorities, which takes milliseconds for those of a system.
    /// - Parameter authorityFile: PEM file of the only authorities to trust; nil: those of the system.
    init(authorityFile: String?) throws(TransferFailure) {
        guard let pointer = SSL_CTX_new(TLS_client_method()) else { throw TransferFailure(kind: .other) }
        self.pointer = pointer
        let isTrusting =
            if let authorityFile {
                SSL_CTX_load_verify_locations(pointer, authorityFile, nil)
            } else {
                SSL_CTX_set_default_verify_paths(pointer)
            }
        // A file that cannot be read is the configuration's fault.
        guard isTrusting == 1 else { throw TransferFailure(kind: .request) }
        guard gateway_ssl_ctx_harden(pointer) == 1, gateway_ssl_ctx_offer_http1(pointer) == 0 else { throw TransferFailure(kind: .other) }
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        gateway_ssl_ctx_offer_sessions(pointer)
        SSL_CTX_sess_set_new_cb(pointer) { session, offered in TLSSession.keep(offered, of: session) }
    }

    deinit {
        SSL_CTX_free(pointer)
    }

    /// The file and the folder of the system's authorities. OpenSSL looks into the folder when it meets an authority for the first time.
    static var systemPaths: [String] {
        let defaults = [
            (X509_get_default_cert_file_env(), X509_get_default_cert_file()),
            (X509_get_default_cert_dir_env(), X509_get_default_cert_dir()),
        ]
        return defaults.compactMap { variable, path in
            (variable.flatMap { getenv($0) } ?? path.map { UnsafeMutablePointer(mutating: $0) }).map { String(cString: $0) }
        }
    }
}
