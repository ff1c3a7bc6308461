import CLibSSL
import Glibc

/// Writes to clients, and buffers what a socket does not accept.
extension Provider {
    func send(_ descriptor: Int32, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { transmit(descriptor, $0) }
    }

    /// Writes bytes, and buffers those that the socket does not accept.
    @inline(__always)
    func transmit(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) {
        let connection = connections + Int(descriptor)
        guard !connection.pointee.isBlocked else {
            connection.pointee.pending.append(contentsOf: bytes)
            return
        }
        let sent = put(descriptor, bytes)
        guard sent < bytes.count else { return }
        guard sent >= 0 || errno == EAGAIN else { return drop(descriptor) }
        counters.blocked += 1
        connection.pointee.pending.append(contentsOf: bytes[max(0, sent)...])
        connection.pointee.isBlocked = true
        poller.modify(descriptor, writing: true, token: Int(descriptor))
    }

    /// Writes to the socket or TLS session; returns as send(2) does.
    @inline(__always)
    private func put(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        if let session = connections[Int(descriptor)].session {
            return TLSServer.result(session, SSL_write(session, bytes.baseAddress, Int32(bytes.count)))
        }
        return Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }

    static let rejection = Array(
        ("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 51\r\n\r\n"
            + #"{"error":{"message":"busy","type":"server_error"}} "#).utf8)

    func unblock(_ descriptor: Int32) {
        let connection = connections + Int(descriptor)
        let pending = connection.pointee.pending
        let sent = pending.withUnsafeBytes { put(descriptor, $0) }
        guard sent >= 0 || errno == EAGAIN else { return drop(descriptor) }
        guard sent == pending.count else {
            connection.pointee.pending.removeFirst(max(0, sent))
            return
        }
        connection.pointee.pending.removeAll(keepingCapacity: true)
        connection.pointee.isBlocked = false
        poller.modify(descriptor, writing: false, token: Int(descriptor))
        if connection.pointee.isClosing {
            finish(descriptor)
        } else if connection.pointee.phase == .answering, connection.pointee.period == 0 {
            addUnpaced(descriptor)
        }
    }

    func drop(_ descriptor: Int32) {
        let connection = connections + Int(descriptor)
        guard connection.pointee.phase != .free else { return }
        if connection.pointee.phase == .answering {
            counters.active -= 1
            counters.cut += 1
        }
        var next = ProviderConnection()
        next.serial = connection.pointee.serial &+ 1
        next.isUnpaced = connection.pointee.isUnpaced
        if let session = connection.pointee.session { SSL_free(session) }
        connection.pointee = next
        close(descriptor)
    }
}
