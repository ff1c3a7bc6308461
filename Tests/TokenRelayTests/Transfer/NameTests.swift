import Glibc
import Reactor
import Synchronization
import Testing

@testable import TokenRelay

@Suite("Names and addresses")
struct NameTests {
    private let start = Moment.now

    @Test("one asks, the others wait; the answer is used until it is old, and while it is asked for again")
    func staleness() {
        var table = TokenRelay.NameTable()
        #expect(table.look(up: "a", at: start) == .unknown(isAsked: false))
        #expect(table.look(up: "a", at: start) == .unknown(isAsked: true))
        table.answered("a", ["1.1.1.1"], at: start)
        #expect(table.look(up: "a", at: start + .seconds(59)) == .known(["1.1.1.1"], refresh: false))
        #expect(table.look(up: "a", at: start + .seconds(60)) == .known(["1.1.1.1"], refresh: true))
        #expect(table.look(up: "a", at: start + .seconds(61)) == .known(["1.1.1.1"], refresh: false))
        // The resolver is away: the old answer lasts for an hour, and it is asked every few seconds.
        table.answered("a", nil, at: start + .seconds(62))
        #expect(table.look(up: "a", at: start + .seconds(63)) == .known(["1.1.1.1"], refresh: false))
        #expect(table.look(up: "a", at: start + .seconds(67)) == .known(["1.1.1.1"], refresh: true))
        table.answered("a", ["2.2.2.2"], at: start + .seconds(68))
        #expect(table.look(up: "a", at: start + .seconds(127)) == .known(["2.2.2.2"], refresh: false))
        #expect(table.look(up: "a", at: start + .seconds(68 + 3600)) == .unknown(isAsked: false))
    }

    @Test("that there is no answer is not remembered, and names are not remembered without bound")
    func negative() {
        var table = TokenRelay.NameTable()
        _ = table.look(up: "a", at: start)
        table.answered("a", nil, at: start)
        #expect(table.look(up: "a", at: start) == .unknown(isAsked: false))
        for index in 0...NameTable.mostNames {
            _ = table.look(up: "n\(index)", at: start)
            table.answered("n\(index)", ["1.1.1.1"], at: start)
        }
        #expect(table.look(up: "n0", at: start) == .unknown(isAsked: false))
        #expect(table.look(up: "n\(NameTable.mostNames)", at: start) == .known(["1.1.1.1"], refresh: false))
    }

    @Test("families take turns, beginning with that of the first; what failed lately comes last")
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

    @Test("a resolver that hangs keeps nobody waiting who has an answer")
    func hangingResolver() async throws {
        let reactor = try Reactor(name: "names")
        reactor.start()
        defer { reactor.stop() }
        let lookups = Atomic(0)
        // SAFETY: used on the reactor's thread only.
        nonisolated(unsafe) let names = TokenRelay.NameCache(reactor: reactor) { _ in
            lookups.add(1, ordering: .relaxed)
            return .success(["192.0.2.1", "2001:db8::1"])
        }
        let answers = Mutex<[[String]]>([])
        for _ in 0..<3 {
            reactor.submit { names.addresses(of: "a.example") { answer in answers.withLock { $0.append((try? answer.get()) ?? []) } } }
        }
        try await eventually { answers.withLock { $0.count } == 3 }
        #expect(lookups.load(ordering: .relaxed) == 1)
        #expect(answers.withLock { $0 } == Array(repeating: ["192.0.2.1", "2001:db8::1"], count: 3))
    }

    @Test("an address that refuses is tried after the others from then on")
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
            // Nobody listens at this address of the loopback network.
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
