import CLibSSL
import Glibc

/// A TLS server with one certificate, whose sessions read and write the sockets directly.
final class TLSServer {
    private let context: OpaquePointer

    /// Loads the certificate and key from PEM files.
    init(certificate: String, key: String) throws {
        guard let context = SSL_CTX_new(TLS_server_method()), SSL_CTX_use_certificate_chain_file(context, certificate) == 1,
            SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1
        else { throw TLSFailure(file: certificate) }
        // A write may be partial and may be repeated from another buffer; idle sessions release their buffers.
        let modes = UInt32(SSL_MODE_ENABLE_PARTIAL_WRITE) | UInt32(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER) | SSL_MODE_RELEASE_BUFFERS
        SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
        self.context = context
    }

    deinit { SSL_CTX_free(context) }

    /// Creates the session of an accepted connection. The handshake runs during the first reads.
    func session(_ descriptor: Int32) -> OpaquePointer? {
        guard let session = SSL_new(context), SSL_set_fd(session, descriptor) == 1 else { return nil }
        SSL_set_accept_state(session)
        return session
    }

    struct TLSFailure: Error, CustomStringConvertible {
        let file: String
        var description: String { "the certificate in \(file), or its key, cannot be used" }
    }

    /// Converts a result of OpenSSL to that of recv(2) and send(2): -1 with EAGAIN when the socket is not ready.
    static func result(_ session: OpaquePointer, _ count: Int32) -> Int {
        guard count <= 0 else { return Int(count) }
        switch SSL_get_error(session, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            errno = EAGAIN
            return -1
        case SSL_ERROR_ZERO_RETURN: return 0
        default:
            ERR_clear_error()
            errno = ECONNRESET
            return -1
        }
    }
}
