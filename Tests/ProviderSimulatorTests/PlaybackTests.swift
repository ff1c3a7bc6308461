import Testing

@testable import ProviderSimulator

@Suite("Playback")
struct PlaybackTests {
    private let beats: [ResponsePlan.Frame] = [
        .init(after: 0, acts: [.head]), .init(after: 10, acts: [.say(.opening)]), .init(after: 5, acts: [.end]),
    ]
    private let ms: Int64 = 1_000_000

    @Test("frames are sent at their times, measured from the start")
    func due() {
        var player = Playback(beats: beats, start: 100 * ms)
        #expect(player.next(now: 100 * ms, isWritable: true) == .perform([.head]))
        #expect(player.next(now: 101 * ms, isWritable: true) == .wait(until: 110 * ms))
        #expect(player.next(now: 113 * ms, isWritable: true) == .perform([.say(.opening)]))
        #expect(player.next(now: 113 * ms, isWritable: true) == .wait(until: 115 * ms))
        #expect(player.next(now: 115 * ms, isWritable: true) == .perform([.end]))
        #expect(player.next(now: 115 * ms, isWritable: true) == .over)
    }

    @Test("a full socket delays frames, and then all overdue frames are sent at once")
    func backPressure() {
        var player = Playback(beats: beats, start: 0)
        #expect(player.next(now: 50 * ms, isWritable: false) == .waitUntilWritable)
        #expect(player.next(now: 50 * ms, isWritable: true) == .perform([.head]))
        #expect(player.next(now: 50 * ms, isWritable: true) == .perform([.say(.opening)]))
        #expect(player.next(now: 50 * ms, isWritable: true) == .perform([.end]))
    }
}
