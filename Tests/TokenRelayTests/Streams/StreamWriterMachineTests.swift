import Testing

@testable import TokenRelay

@Suite("StreamWriterMachine")
struct StreamWriterMachineTests {
    private static let bytes: ArraySlice<UInt8> = [1, 2, 3, 4]

    private func blocked(_ following: StreamWriterMachine.Following = .signal) -> StreamWriterMachine {
        var machine = StreamWriterMachine()
        #expect(machine.wrote(1, of: Self.bytes, following) == .none)
        #expect(machine.isBlocked && !machine.mayWrite)
        return machine
    }

    private func deferred() -> StreamWriterMachine {
        var machine = StreamWriterMachine()
        #expect(machine.wrote(4, of: Self.bytes, .piece) == .deferNext)
        return machine
    }

    private func over() -> StreamWriterMachine {
        var machine = StreamWriterMachine()
        #expect(machine.end(.gone) == .end(.gone))
        return machine
    }

    @Test("progress is written at once, unless a piece is deferred, the socket is blocked or the writer has ended")
    func progress() {
        var machines = [StreamWriterMachine(), deferred(), blocked(), over()]
        #expect(machines.indices.map { machines[$0].progressed() } == [.writeNext, .none, .none, .none])
    }

    @Test("a deferred piece is written when it is due, unless the socket is blocked or the writer has ended")
    func deferral() {
        var machine = deferred()
        #expect(machine.continued() == .writeNext)
        #expect(machine.continued() == .none)
        machine = deferred()
        // A heartbeat that the socket did not take.
        #expect(machine.wrote(0, of: Self.bytes, .signal) == .none)
        #expect(machine.continued() == .none)
        machine = deferred()
        #expect(machine.wrote(4, of: Self.bytes, .signal) == .none)
        #expect(machine.continued() == .writeNext)
    }

    @Test("bytes that the socket did not take wait, and nothing is written until they are sent")
    func blocking() {
        var machine = blocked(.piece)
        #expect(machine.unsent?.bytes == [2, 3, 4] && machine.unsent?.isLast == false)
        #expect(machine.sentWaiting(0) == .none)
        #expect(machine.sentWaiting(2) == .none)
        #expect(machine.unsent?.bytes == [4])
        #expect(machine.sentWaiting(1) == .writeNext)
        #expect(!machine.isBlocked && machine.unsent == nil)
        #expect(machine.sentWaiting(1) == .none)
    }

    @Test("the last bytes end the writer when the socket has taken them")
    func last() {
        var machine = StreamWriterMachine()
        #expect(machine.wrote(4, of: Self.bytes, .end(.complete)) == .end(.complete))
        #expect(machine.isOver)
        machine = blocked(.end(.complete))
        #expect(machine.unsent?.isLast == true)
        #expect(machine.sentWaiting(3) == .end(.complete))
        #expect(machine.end(.gone) == .none)
    }

    @Test("handOver writes the retry event; a blocked writer ends without it, unless its last bytes are waiting")
    func handOver() {
        var machines = [StreamWriterMachine(), deferred(), blocked(), blocked(.end(.complete)), over()]
        #expect(machines.indices.map { machines[$0].handOver() } == [.writeRetry, .writeRetry, .end(.gone), .none, .none])
        #expect(machines[0].wrote(4, of: Self.bytes, .end(.handedOver)) == .end(.handedOver))
    }

    @Test("a writer ends once")
    func end() {
        for var machine in [StreamWriterMachine(), deferred(), blocked(), blocked(.end(.complete))] {
            #expect(machine.end(.stalled) == .end(.stalled))
            #expect(machine.end(.gone) == .none)
            #expect(machine.wrote(4, of: Self.bytes, .piece) == .none)
        }
    }
}
