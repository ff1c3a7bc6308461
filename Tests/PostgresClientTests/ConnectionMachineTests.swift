import Reactor
import Testing

@testable import PostgresClient

@Suite struct ConnectionMachineTests {
    private var machine = ConnectionMachine()

    private mutating func handshake() {
        _ = machine.begin()
        _ = machine.resolved(true)
        _ = machine.handshakeStarted(true)
    }

    private mutating func open() {
        handshake()
        _ = machine.polled(.done)
    }

    @Test("connecting goes: look up, start, wait as libpq says, open")
    mutating func connecting() {
        #expect(machine.begin() == .resolveHost)
        #expect(machine.resolved(true) == .startHandshake)
        #expect(machine.handshakeStarted(true) == .watchHandshake(.write))
        #expect(machine.ready(.writable) == .pollHandshake)
        #expect(machine.polled(.reading) == .watchHandshake(.read))
        #expect(machine.ready(.readable) == .pollHandshake)
        #expect(machine.polled(.writing) == .watchHandshake(.write))
        #expect(machine.polled(.done) == .becomeOpen)
        #expect(machine.state == .open)
    }

    @Test("a connection begins once")
    mutating func beginTwice() {
        _ = machine.begin()
        #expect(machine.begin() == .none)
    }

    @Test("an unknown host, a refused start and a failed poll end it")
    mutating func failures() {
        _ = machine.begin()
        #expect(machine.resolved(false) == .end(.hostUnknown))
        machine = ConnectionMachine()
        _ = machine.begin()
        _ = machine.resolved(true)
        #expect(machine.handshakeStarted(false) == .end(.refused))
        machine = ConnectionMachine()
        handshake()
        #expect(machine.polled(.failed) == .end(.refused))
    }

    @Test("the time limit ends a connection while it connects, and does nothing once it is open")
    mutating func connectTimeout() {
        _ = machine.begin()
        #expect(machine.connectTimedOut() == .end(.connectTimeout))
        machine = ConnectionMachine()
        open()
        #expect(machine.connectTimedOut() == .none)
    }

    @Test("a lookup that ends after the time limit is ignored")
    mutating func lateLookup() {
        _ = machine.begin()
        _ = machine.connectTimedOut()
        #expect(machine.resolved(true) == .none)
        #expect(machine.state == .closed)
    }

    @Test("readable means read, then flush, because reading may have made room for writing")
    mutating func readThenFlush() {
        open()
        #expect(machine.ready([.readable, .writable]) == .consumeInput)
        #expect(machine.consumed(true) == .flushOutput)
        #expect(machine.ready(.writable) == .flushOutput)
    }

    @Test("it waits for writing only while something is left to write")
    mutating func interest() {
        open()
        #expect(machine.flushed(.pending) == .watch([.read, .write]))
        #expect(machine.flushed(.done) == .watch(.read))
    }

    @Test("a failed read or write ends it, once")
    mutating func lost() {
        open()
        #expect(machine.consumed(false) == .end(.lost))
        #expect(machine.flushed(.failed) == .none)
        #expect(machine.end(.requested) == .none)
    }

    @Test("after its end nothing moves it")
    mutating func closed() {
        open()
        _ = machine.end(.requested)
        #expect(machine.ready(.readable) == .none)
        #expect(machine.polled(.done) == .none)
        #expect(machine.consumed(true) == .none)
        #expect(machine.flushed(.done) == .none)
        #expect(machine.handshakeStarted(true) == .none)
        #expect(machine.begin() == .none)
    }
}
