import Glibc
import Reactor
import Testing

@testable import TokenRelay

@Suite("ConnectionSetup")
struct ConnectionSetupTests {
    @Test("an address that refused is tried last by later connections, also when it would accept again")
    func failedAddress() async throws {
        let (reserved, port) = try RawServer.bound()
        defer { close(reserved) }
        let other = try Listener("127.0.0.2", port)
        try await Setups.run(["127.0.0.1", "127.0.0.2"], port) { setups in
            #expect(await setups.connect())
            #expect(other.accepted() == 1)
            try #require(listen(reserved, 16) == 0)
            #expect(await setups.connect())
            #expect(other.accepted() == 1)
        }
    }

    @Test("after an IPv4 address that refuses, an IPv6 address is tried before the next IPv4 address", .enabled(if: Listener.hasSix))
    func interleaved() async throws {
        let (reserved, port) = try RawServer.bound()
        defer { close(reserved) }
        let (second, six) = (try Listener("127.0.0.2", port), try Listener("::1", port))
        try await Setups.run(["127.0.0.1", "127.0.0.2", "::1"], port) { setups in
            #expect(await setups.connect())
            #expect(six.accepted() == 1 && second.accepted() == 0)
        }
    }
}

/// Opens connections to a host with given addresses, all with the same tools, as a client's driver does.
private struct Setups: Sendable {
    let tools: ReactorBound<ConnectionTools>
    let port: Int

    static func run(_ addresses: [String], _ port: Int, _ body: (Setups) async throws -> Void) async throws {
        let reactor = try Reactor(name: "setups")
        reactor.start()
        defer { reactor.stop() }
        let tools = ConnectionTools(reactor: reactor) { _ in .success(addresses) }
        try await body(Setups(tools: ReactorBound(tools, to: reactor), port: port))
    }

    /// Whether a connection was made; it is closed.
    func connect() async -> Bool {
        let origin = Origin(isSecure: false, host: "provider.test", port: UInt16(port))
        return await withCheckedContinuation { continuation in
            tools.submit { tools in
                let setup = ConnectionSetup(origin, with: tools) { outcome in
                    if case .success(let connection) = outcome {
                        connection.close()
                        continuation.resume(returning: true)
                    } else {
                        continuation.resume(returning: false)
                    }
                }
                setup.begin(within: .seconds(20))
            }
        }
    }
}

/// Listens on an address of loopback.
private final class Listener {
    private let descriptor: Int32

    /// Whether this machine has IPv6 on loopback.
    static let hasSix = (try? Listener("::1", 0)) != nil

    init(_ address: String, _ port: Int) throws {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address, "\(port)", &hints, &list)
        guard code == 0, let list else { throw TransferFailure(kind: .resolve, code: code) }
        defer { freeaddrinfo(list) }
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(list.pointee.ai_family, flags, 0)
        guard bind(descriptor, list.pointee.ai_addr, list.pointee.ai_addrlen) == 0, listen(descriptor, 16) == 0 else {
            let reason = errno
            close(descriptor)
            throw TransferFailure(kind: .connect, code: reason)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// How many connections were made since the last call.
    func accepted() -> Int {
        var count = 0
        while case let connection = accept(descriptor, nil, nil), connection >= 0 {
            close(connection)
            count += 1
        }
        return count
    }
}
