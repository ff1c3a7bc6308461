import Testing

@testable import ProviderSimulator

@Suite("Playback")
struct PlaybackTests {
    private let frames: [ResponsePlan.Frame] = [
        .init(after: 0, steps: [.head]), .init(after: 10, steps: [.send(.opening)]), .init(after: 5, steps: [.end]),
    ]
    private let ms: Int64 = 1_000_000

    @Test("frames are sent at their times, measured from the start")
    func due() {
        var playback = Playback(frames: frames, start: 100 * ms)
        #expect(playback.next(now: 100 * ms, isWritable: true) == .perform([.head]))
        #expect(playback.next(now: 101 * ms, isWritable: true) == .wait(until: 110 * ms))
        #expect(playback.next(now: 113 * ms, isWritable: true) == .perform([.send(.opening)]))
        #expect(playback.next(now: 113 * ms, isWritable: true) == .wait(until: 115 * ms))
        #expect(playback.next(now: 115 * ms, isWritable: true) == .perform([.end]))
        #expect(playback.next(now: 115 * ms, isWritable: true) == .over)
    }

    @Test("a full socket delays frames, and then all overdue frames are sent at once")
    func backPressure() {
        var playback = Playback(frames: frames, start: 0)
        #expect(playback.next(now: 50 * ms, isWritable: false) == .waitUntilWritable)
        #expect(playback.next(now: 50 * ms, isWritable: true) == .perform([.head]))
        #expect(playback.next(now: 50 * ms, isWritable: true) == .perform([.send(.opening)]))
        #expect(playback.next(now: 50 * ms, isWritable: true) == .perform([.end]))
    }
}
