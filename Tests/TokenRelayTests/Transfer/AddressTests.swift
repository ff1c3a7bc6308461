import Glibc
import Reactor
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

@Suite("AddressOrder")
struct AddressTests {
    private let start = MonotonicInstant.now

    @Test("address families alternate, beginning with that of the first; addresses that failed lately come last")
    func order() {
        var order = AddressOrder()
        let found = ["2001::1", "2001::2", "2001::3", "1.1.1.1", "1.1.1.2"]
        #expect(order.ordered(found, at: start) == ["2001::1", "1.1.1.1", "2001::2", "1.1.1.2", "2001::3"])
        #expect(order.ordered(["1.1.1.1", "2001::1", "1.1.1.2"], at: start) == ["1.1.1.1", "2001::1", "1.1.1.2"])
        #expect(order.ordered([], at: start) == [])
        order.failed("2001::1", at: start)
        #expect(order.ordered(found, at: start + .seconds(59)) == ["1.1.1.1", "2001::2", "1.1.1.2", "2001::3", "2001::1"])
        #expect(order.ordered(found, at: start + .seconds(60)).first == "2001::1")
        for index in 0..<1000 { order.failed("10.0.\(index / 256).\(index % 256)", at: start + .seconds(60)) }
        #expect(order.ordered(["10.0.0.1", "10.0.3.231"], at: start + .seconds(61)) == ["10.0.3.231", "10.0.0.1"])
    }

    @Test("an address that refused is tried after the others")
    func refusing() async throws {
        let server = try RawServer { connection in
            while connection.request() != nil { connection.write("HTTP/1.1 204 No\r\nConnection: close\r\n\r\n") }
        }
        let reactor = try Reactor(name: "dial")
        reactor.start()
        defer { reactor.stop() }
        let failed = Mutex<[String]>([])
        let connected = Atomic(false)
        reactor.submit {
            // No server listens on this loopback address.
            let connector = HappyEyeballsConnector(
                ["127.0.0.77", "127.0.0.1"], port: UInt16(server.port), on: reactor,
                onFailedAddress: { address in failed.withLock { $0.append(address) } }
            ) { result in
                if case .success(let descriptor) = result {
                    close(descriptor)
                    connected.store(true, ordering: .releasing)
                }
            }
            connector.begin()
        }
        try await eventually { connected.load(ordering: .acquiring) }
        #expect(failed.withLock { $0 } == ["127.0.0.77"])
    }
}
