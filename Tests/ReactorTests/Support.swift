import Glibc
import Reactor

/// Starts a reactor for one test and stops it afterwards.
func withReactor(_ body: (Reactor) async throws -> Void) async throws {
    let reactor = try Reactor(name: "test")
    reactor.start()
    defer { reactor.stop() }
    try await body(reactor)
}

extension Reactor {
    /// Runs `work` on the reactor and waits for its result.
    func call<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            submit { continuation.resume(with: Swift.Result(catching: work)) }
        }
    }

    /// Runs `work` on the reactor; `work` calls its argument when the test may go on.
    func waiting<Result: Sendable>(_ work: @escaping @Sendable (@escaping @Sendable (Result) -> Void) -> Void) async -> Result {
        await withCheckedContinuation { continuation in
            submit { work { continuation.resume(returning: $0) } }
        }
    }
}

/// Two connected stream sockets, closed with the value.
struct SocketPair: ~Copyable {
    let near: Int32
    let far: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        let code = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        precondition(code == 0)
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        close(near)
        close(far)
    }
}

func send(_ text: String, to descriptor: Int32) {
    _ = text.withCString { write(descriptor, $0, strlen($0)) }
}

func receive(from descriptor: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &buffer, buffer.count)
    return String(decoding: buffer[..<max(count, 0)], as: UTF8.self)
}

/// A value that only the reactor's thread touches.
final class Box<Value>: @unchecked Sendable {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}
