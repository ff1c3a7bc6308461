// One of the four files that touch OpenSSL's pointers.

import CLibSSL

/// The TLS of one client connection (OpenSSL's `SSL`), without I/O: it decrypts bytes that the caller received from the socket, and
/// encrypts bytes that the caller sends. Because it does not read the socket itself, one `recv` serves any number of records.
// SAFETY: the `SSL` is created in `init` and freed in `deinit`; it owns both memory BIOs from `SSL_set_bio` on. Every call is made on the
// one thread that uses the object, with buffers that are valid during the call.
final class TLSEngine {
    /// The state after `handshake`.
    enum Handshake: Equatable {
        /// More bytes from the peer are needed.
        case inProgress
        case done
        case failed(TransferFailure)
    }

    /// The result of `read`.
    enum Reading: Equatable {
        /// This number of decrypted bytes.
        case bytes(Int)
        /// No complete record is left: more bytes from the peer are needed.
        case wait
        /// The peer announced the end (close_notify).
        case closed
        /// The peer broke the protocol, or a record was changed.
        case broken
    }

    private let ssl: OpaquePointer
    private let context: TLSContext
    /// The key in `TLSSessionCache`: the name or address, and the port.
    private let peer: String
    private let input: OpaquePointer
    private let output: OpaquePointer

    /// Resumes an earlier session with the same host and port, if the context has one.
    /// - Parameter host: the name or address for which the peer's certificate must be.
    init(_ context: TLSContext, host: String, port: UInt16) throws(TransferFailure) {
        guard let ssl = SSL_new(context.pointer) else { throw TransferFailure(kind: .other) }
        guard let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
            SSL_free(ssl)
            throw TransferFailure(kind: .other)
        }
        self.ssl = ssl
        self.context = context
        peer = "\(host):\(port)"
        self.input = input
        self.output = output
        SSL_set_bio(ssl, input, output)
        SSL_set_connect_state(ssl)
        // An address is compared with the certificate's addresses, and never sent as a name (RFC 6066 §3).
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) != 1 {
            guard SSL_set1_host(ssl, host) == 1, gateway_ssl_set_server_name(ssl, host) == 1 else {
                throw TransferFailure(kind: .request)
            }
        }
        // A peer that does not resume it does a full handshake.
        context.resumable.withSession(of: peer) { _ = SSL_set_session(ssl, $0) }
        SSL_set_ex_data(ssl, Self.ownIndex, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The index of OpenSSL's application data under which the pointer to this object is stored.
    private static let ownIndex: Int32 = 0

    /// OpenSSL's callback for a new session ticket of the peer: stores it for later connections. Returns 1 when it took the reference.
    // SAFETY: OpenSSL calls this inside `handshake` or `read` only, so the object exists, and the call is on the thread that uses it.
    static func keep(_ offered: OpaquePointer?, of ssl: OpaquePointer?) -> Int32 {
        guard let offered, let ssl, let pointer = SSL_get_ex_data(ssl, ownIndex) else { return 0 }
        let own = Unmanaged<TLSEngine>.fromOpaque(pointer).takeUnretainedValue()
        own.context.resumable.keep(offered, of: own.peer)
        return 1
    }

    deinit {
        // Otherwise OpenSSL drops the session from resumption when the connection ends without a shutdown, which RFC 5246 §7.2.1 does not
        // require.
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_free(ssl)
    }

    /// Continues the handshake with the bytes received so far. Send `takeOutput()` afterwards.
    func handshake() -> Handshake {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 { return .done }
        guard SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ else {
            return .failed(TransferFailure(kind: .tls, code: Int32(SSL_get_verify_result(ssl))))
        }
        return .inProgress
    }

    /// Adds bytes that the socket received.
    func received(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        // A memory BIO accepts all bytes, unless memory runs out.
        _ = BIO_write(input, bytes.baseAddress, Int32(bytes.count))
    }

    /// Decrypts into `buffer`, as much as fits.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
        ERR_clear_error()
        let count = SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        switch SSL_get_error(ssl, count) {
        case SSL_ERROR_WANT_READ: return .wait
        case SSL_ERROR_ZERO_RETURN: return .closed
        default: return .broken
        }
    }

    /// Encrypts; send `takeOutput()` afterwards. False when the session is broken.
    func write(_ bytes: [UInt8]) -> Bool {
        ERR_clear_error()
        return bytes.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32($0.count)) } == Int32(bytes.count)
    }

    /// Removes and returns the encrypted bytes to send on the socket.
    func takeOutput() -> [UInt8] {
        let count = BIO_ctrl_pending(output)
        guard count > 0 else { return [] }
        // SAFETY: `BIO_read` writes at most `count` bytes and returns how many it has written.
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            written = max(0, Int(BIO_read(output, buffer.baseAddress, Int32(count))))
        }
    }
}
