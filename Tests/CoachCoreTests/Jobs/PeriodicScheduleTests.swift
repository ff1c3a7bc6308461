import CoachCore
import Testing

@Suite("The schedule of periodic work")
struct PeriodicScheduleTests {
    @Test("runs at once or after a delay, then at a fixed interval between starts, and sooner after a failure")
    func pauses() {
        var schedule = PeriodicSchedule(every: .seconds(10), retryEvery: .seconds(2))
        #expect(schedule.firstPause(random: 1) == .zero)
        #expect(schedule.ended(succeeded: true, after: .seconds(3), random: 0).pause == .seconds(7))
        #expect(schedule.ended(succeeded: true, after: .seconds(30), random: 0).pause == .zero)
        #expect(schedule.ended(succeeded: false, after: .seconds(0.5), random: 0).pause == .seconds(1.5))
        #expect(PeriodicSchedule(every: .seconds(10), firstAfter: .seconds(4)).firstPause(random: 1) == .seconds(4))
    }

    @Test("jitter only shortens a pause, by at most its fraction")
    func jitter() {
        var schedule = PeriodicSchedule(every: .seconds(10), firstAfter: .seconds(4), jitter: 0.25)
        #expect(schedule.firstPause(random: 1) == .seconds(3))
        #expect(schedule.ended(succeeded: true, after: .zero, random: 0).pause == .seconds(10))
        #expect(schedule.ended(succeeded: true, after: .zero, random: 0.5).pause == .seconds(8.75))
        #expect(schedule.ended(succeeded: true, after: .zero, random: 1).pause == .seconds(7.5))
    }

    @Test("reports the first failure of an outage and its end, and nothing between")
    func reports() {
        var schedule = PeriodicSchedule(every: .seconds(1))
        let reports = [true, false, false, false, true, true, false].map { schedule.ended(succeeded: $0, after: .zero, random: 0).report }
        #expect(reports == [nil, .outageBegan, nil, nil, .outageEnded, nil, .outageBegan])
    }

    @Test("a job that fails waits longer each time, within a factor of two, and never more than ten minutes")
    func backoff() {
        let longest = (1...20).map { JobBackoff.pause(afterAttempt: $0, random: 1) }
        #expect(Array(longest.prefix(4)) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
        #expect(longest.last == .seconds(600) && JobBackoff.pause(afterAttempt: 1_000, random: 1) == .seconds(600))
        #expect(JobBackoff.pause(afterAttempt: 3, random: 0) == .seconds(2))
        let whole = longest.dropLast().reduce(Duration.zero, +)
        #expect(whole > .seconds(106 * 60) && whole <= .seconds(107 * 60 + 60))
    }
}
