import Testing

@testable import TokenRelay

@Suite("StreamTimers")
struct StreamTimersTests {
    private let start = MonotonicInstant.now
    private let limits = StreamLimits(silence: .seconds(10), stall: .seconds(75))

    @Test("a silent stream needs a heartbeat, and another after each further silence")
    func silence() {
        var timers = StreamTimers(limits, now: start)
        #expect(timers.due(at: start + .seconds(9)) == .none)
        #expect(timers.due(at: start + .seconds(10)) == .heartbeat)
        timers.wrote(isWaiting: false, at: start + .seconds(10))
        #expect(timers.due(at: start + .seconds(19)) == .none)
        #expect(timers.deadline == start + .seconds(20))
    }

    @Test("a client that reads nothing is cut off after `stall`, counted from the first byte that was not taken")
    func stall() {
        var timers = StreamTimers(limits, now: start)
        timers.wrote(isWaiting: true, at: start + .seconds(1))
        timers.tookNothing(at: start + .seconds(50))
        #expect(timers.due(at: start + .seconds(75)) == .none)
        #expect(timers.due(at: start + .seconds(76)) == .cutOff)
    }

    @Test("a slow client that reads at times is not cut off, and gets no heartbeat while bytes wait")
    func slow() {
        var timers = StreamTimers(limits, now: start)
        for second in 1...20 { timers.wrote(isWaiting: true, at: start + .seconds(second * 60)) }
        #expect(timers.due(at: start + .seconds(20 * 60 + 74)) == .none)
        timers.wrote(isWaiting: false, at: start + .seconds(20 * 60 + 74))
        #expect(timers.due(at: start + .seconds(20 * 60 + 83)) == .none)
        #expect(timers.due(at: start + .seconds(20 * 60 + 84)) == .heartbeat)
    }
}

@Suite("Chunked coding")
struct ChunkFrameTests {
    @Test("a chunk is the size in hexadecimal, a line end, the bytes, a line end", arguments: [1, 9, 10, 15, 16, 255, 256, 4096, 70_000])
    func frame(size: Int) {
        var frame = ChunkFrame()
        frame.fill { $0.append(contentsOf: repeatElement(UInt8(ascii: "x"), count: size)) }
        let expected = String(size, radix: 16) + "\r\n" + String(repeating: "x", count: size) + "\r\n"
        #expect(String(decoding: frame.framed, as: UTF8.self) == expected)
        #expect(String(decoding: frame.content, as: UTF8.self) == String(repeating: "x", count: size))
    }

    @Test("empty content makes no chunk, because a chunk of size 0 would end the body")
    func empty() {
        var frame = ChunkFrame()
        frame.fill { _ in }
        #expect(frame.framed.isEmpty && frame.content.isEmpty)
    }
}
