// One of the two files that touch OpenSSL's pointers.

import CLibSSL

/// What sessions with the same trust share. Belongs to one thread.
// SAFETY: the pointer is created in `init`, freed in `deinit`, and never handed out of the two TLS files; sessions hold a reference of
// OpenSSL's own.
final class TLSContext {
    let pointer: OpaquePointer

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
    }

    deinit {
        SSL_CTX_free(pointer)
    }
}
