import Glibc

/// A system call that failed.
struct SocketError: Error, CustomStringConvertible {
    let operation: String
    let code: Int32

    init(_ operation: String, code: Int32 = errno) {
        self.operation = operation
        self.code = code
    }

    var description: String { "\(operation): \(String(cString: strerror(code)))" }
}

/// Non-blocking TCP over IPv4.
enum Socket {
    static func listen(host: String, port: UInt16) throws(SocketError) -> (descriptor: Int32, port: UInt16) {
        let descriptor = try make()
        set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        var address = try Self.address(host, port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && Glibc.listen(descriptor, 4096) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard result else { throw SocketError("listening on \(host):\(port)") }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// Accepts a connection; nil when none is pending.
    static func accept(_ listener: Int32) -> Int32? {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return nil }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return descriptor
    }

    /// Starts to connect. The socket becomes writable when it is connected.
    static func connect(_ target: sockaddr_in) throws(SocketError) -> Int32 {
        let descriptor = try make()
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        var target = target
        let result = withUnsafePointer(to: &target) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 || errno == EINPROGRESS else {
            let error = SocketError("connect")
            close(descriptor)
            throw error
        }
        return descriptor
    }

    static func address(_ host: String, _ port: UInt16) throws(SocketError) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw SocketError("address \(host)", code: EINVAL) }
        return address
    }

    /// Raises the limit of open files as far as permitted, and returns it.
    static func raiseFileLimit() -> Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // Root may raise the hard limit too.
        var wanted = rlimit(rlim_cur: max(limit.rlim_max, 65_536), rlim_max: max(limit.rlim_max, 65_536))
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted) != 0 {
            wanted = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted)
        }
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    private static func make() throws(SocketError) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { throw SocketError("socket") }
        return descriptor
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
