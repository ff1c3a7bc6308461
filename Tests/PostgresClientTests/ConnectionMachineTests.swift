import Reactor
import Testing

@testable import PostgresClient

@Suite struct ConnectionMachineTests {
    private var machine = ConnectionMachine()

    private static func target(_ host: String, at index: Int = 0, address: String? = nil) -> ConnectionTarget {
        ConnectionTarget(host: index, entry: HostList.Entry(host: host, address: address, port: "5432"))
    }
    private let name = target("db.example")
    private let first = target("10.0.0.1", address: "10.0.0.1")
    private let second = target("10.0.0.2", at: 1, address: "10.0.0.2")

    private mutating func handshake() {
        _ = machine.begin([first])
        _ = machine.handshakeStarted()
    }

    private mutating func open() {
        handshake()
        _ = machine.polled(.done)
    }

    @Test("the steps of connecting: look up the host, start, wait as libpq asks, open")
    mutating func connecting() {
        #expect(machine.begin([name]) == .resolveHost(name))
        let found = Self.target("db.example", address: "10.0.0.1")
        #expect(machine.resolved(["10.0.0.1"]) == .startHandshake(found))
        #expect(machine.handshakeStarted() == .watchHandshake(.write))
        #expect(machine.ready(.writable) == .pollHandshake)
        #expect(machine.polled(.reading) == .watchHandshake(.read))
        #expect(machine.ready(.readable) == .pollHandshake)
        #expect(machine.polled(.writing) == .watchHandshake(.write))
        #expect(machine.polled(.done) == .becomeOpen)
        #expect(machine.state == .open)
        #expect(machine.current == found)
    }

    @Test("begin has an effect once")
    mutating func beginTwice() {
        _ = machine.begin([first])
        #expect(machine.begin([first]) == .none)
    }

    @Test("a failed attempt is followed by the next address, the last one's failure ends the round")
    mutating func failures() {
        _ = machine.begin([name, second])
        #expect(machine.resolved(["10.0.0.1", "::1"]) == .startHandshake(Self.target("db.example", address: "10.0.0.1")))
        #expect(machine.attemptFailed(isFinal: false) == .startHandshake(Self.target("db.example", address: "::1")))
        #expect(machine.attemptFailed(isFinal: false) == .startHandshake(second))
        #expect(machine.attemptFailed(isFinal: false) == .end(.unreachable))
        #expect(machine.attemptFailed(isFinal: false) == .none)
    }

    @Test("a server that rejects the login ends the round")
    mutating func finalFailure() {
        _ = machine.begin([first, second])
        #expect(machine.attemptFailed(isFinal: true) == .end(.unreachable))
    }

    @Test("each attempt but the last gets an equal share of the remaining time, at most a second")
    mutating func limits() {
        _ = machine.begin([first, second, second, second])
        #expect(machine.attemptLimit(remaining: .seconds(2)) == .milliseconds(500))
        #expect(machine.attemptLimit(remaining: .seconds(40)) == .seconds(1))
        for _ in 1...3 { _ = machine.attemptFailed(isFinal: false) }
        #expect(machine.attemptLimit(remaining: .milliseconds(1700)) == .milliseconds(1700))
    }

    @Test("a failed attempt has no effect on an open connection")
    mutating func lateFailure() {
        open()
        #expect(machine.attemptFailed(isFinal: true) == .none)
    }

    @Test("a lookup that ends after its attempt is ignored")
    mutating func lateLookup() {
        _ = machine.begin([name, second])
        _ = machine.attemptFailed(isFinal: false)
        #expect(machine.resolved(["10.0.0.1"]) == .none)
        #expect(machine.current == second)
    }

    @Test("readable means read, then flush, because reading may have made room for writing")
    mutating func readThenFlush() {
        open()
        #expect(machine.ready([.readable, .writable]) == .consumeInput)
        #expect(machine.consumed(true) == .flushOutput)
        #expect(machine.ready(.writable) == .flushOutput)
    }

    @Test("it waits to write only while bytes are left to write")
    mutating func interest() {
        open()
        #expect(machine.flushed(.pending) == .watch([.read, .write]))
        #expect(machine.flushed(.done) == .watch(.read))
    }

    @Test("a failed read or write ends the connection, once")
    mutating func lost() {
        open()
        #expect(machine.consumed(false) == .end(.lost))
        #expect(machine.flushed(.failed) == .none)
        #expect(machine.end(.requested) == .none)
    }

    @Test("no event has an effect after the end")
    mutating func closed() {
        open()
        _ = machine.end(.requested)
        #expect(machine.ready(.readable) == .none)
        #expect(machine.polled(.done) == .none)
        #expect(machine.consumed(true) == .none)
        #expect(machine.flushed(.done) == .none)
        #expect(machine.handshakeStarted() == .none)
        #expect(machine.begin([first]) == .none)
    }
}
