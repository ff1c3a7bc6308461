// One of the four files that touch OpenSSL's pointers.

import CLibSSL

/// TLS as a machine: what the socket received goes in, what it shall send comes out, and between them stands plain text. It knows no socket,
/// so one wake-up is one read however many records arrived.
// SAFETY: the session is created in `init` and freed in `deinit`; it owns both memory BIOs from `SSL_set_bio` on. Every call is made by the
// one thread that owns the object, with buffers that are lent for that call.
final class TLSSession {
    enum Handshake: Equatable {
        case inProgress
        case done
        case failed(TransferFailure)
    }

    enum Reading: Equatable {
        /// So many bytes of plain text.
        case bytes(Int)
        /// More must arrive first.
        case wait
        /// The peer announced the end (close_notify).
        case closed
        case broken
    }

    private let session: OpaquePointer
    private let context: TLSContext
    /// Whose sessions may be resumed: the name or address, and the port.
    private let peer: String
    private let input: OpaquePointer
    private let output: OpaquePointer

    /// A client's session; the certificate must be for `host`, a name or an address. A session that the peer offered before is resumed.
    init(_ context: TLSContext, host: String, port: UInt16) throws(TransferFailure) {
        guard let session = SSL_new(context.pointer) else { throw TransferFailure(kind: .other) }
        guard let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
            SSL_free(session)
            throw TransferFailure(kind: .other)
        }
        self.session = session
        self.context = context
        peer = "\(host):\(port)"
        self.input = input
        self.output = output
        SSL_set_bio(session, input, output)
        SSL_set_connect_state(session)
        // An address is compared with the certificate's addresses, and never sent as a name (RFC 6066 §3).
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) != 1 {
            guard SSL_set1_host(session, host) == 1, gateway_ssl_set_server_name(session, host) == 1 else {
                throw TransferFailure(kind: .request)
            }
        }
        // A peer that cannot or will not resume shakes hands in full.
        context.resumable.withSession(of: peer) { _ = SSL_set_session(session, $0) }
        SSL_set_ex_data(session, Self.ownPlace, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Where OpenSSL keeps the pointer to this object: the place that it leaves to applications.
    private static let ownPlace: Int32 = 0

    /// The peer of a session offers another to be resumed. 1: the reference was taken over.
    // SAFETY: OpenSSL calls this inside `handshake` or `read` only, so the object at that place is alive, and on the thread that owns it.
    static func keep(_ offered: OpaquePointer?, of session: OpaquePointer?) -> Int32 {
        guard let offered, let session, let place = SSL_get_ex_data(session, ownPlace) else { return 0 }
        let own = Unmanaged<TLSSession>.fromOpaque(place).takeUnretainedValue()
        own.context.resumable.keep(offered, of: own.peer)
        return 1
    }

    deinit {
        // OpenSSL forgets a session whose connection ends without being shut down; that is no reason not to resume it (RFC 5246 §7.2.1).
        SSL_set_shutdown(session, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_free(session)
    }

    /// Goes on with the handshake; what there is to send is in the output afterwards.
    func handshake() -> Handshake {
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        if result == 1 { return .done }
        guard SSL_get_error(session, result) == SSL_ERROR_WANT_READ else {
            return .failed(TransferFailure(kind: .tls, code: Int32(SSL_get_verify_result(session))))
        }
        return .inProgress
    }

    /// What the socket received.
    func received(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        // A memory BIO takes everything, short of memory running out.
        _ = BIO_write(input, bytes.baseAddress, Int32(bytes.count))
    }

    /// Plain text, as much as fits.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
        ERR_clear_error()
        let count = SSL_read(session, buffer.baseAddress, Int32(buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        switch SSL_get_error(session, count) {
        case SSL_ERROR_WANT_READ: return .wait
        case SSL_ERROR_ZERO_RETURN: return .closed
        default: return .broken
        }
    }

    /// Encrypts; false when the session is broken.
    func write(_ bytes: [UInt8]) -> Bool {
        ERR_clear_error()
        return bytes.withUnsafeBytes { SSL_write(session, $0.baseAddress, Int32($0.count)) } == Int32(bytes.count)
    }

    /// What the socket shall send.
    func takeOutput() -> [UInt8] {
        let count = BIO_ctrl_pending(output)
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            written = max(0, Int(BIO_read(output, buffer.baseAddress, Int32(count))))
        }
    }
}
