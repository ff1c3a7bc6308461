import Glibc

/// The system calls with which a TCP socket is connected. Uses numeric addresses only.
enum TCPSocket {
    /// Begins to connect and returns the socket, which becomes writable when connecting has succeeded or failed. It is non-blocking, closed
    /// on exec, and has TCP_NODELAY and keepalive.
    static func connect(to address: String, _ port: UInt16) throws(TransferFailure) -> Int32 {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address, "\(port)", &hints, &list)
        guard code == 0, let list else { throw TransferFailure(kind: .resolve, code: code) }
        defer { freeaddrinfo(list) }
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(list.pointee.ai_family, flags, 0)
        guard descriptor >= 0 else { throw TransferFailure(kind: .other, code: errno) }
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 30)
        set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
        if Glibc.connect(descriptor, list.pointee.ai_addr, list.pointee.ai_addrlen) != 0, errno != EINPROGRESS {
            let reason = errno
            close(descriptor)
            throw TransferFailure(kind: .connect, code: reason)
        }
        return descriptor
    }

    /// The result of connecting: 0, or an `errno`.
    static func error(of descriptor: Int32) -> Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        // A failure is ignored: these options only improve latency and the detection of lost peers.
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
