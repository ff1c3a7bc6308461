import CoachCore
import JSON
import Testing

@testable import BackgroundJobs

extension Job {
    static func test(_ id: Int64, _ kind: JobKind = .test, attempt: Int = 1, isLast: Bool = false) -> Job {
        Job(
            run: JobRun(id: JobID(id), attempt: attempt), isLastAttempt: isLast, userID: nil, kind: kind, payload: .object([]),
            idempotencyKey: nil)
    }
}

extension JobKind {
    static let test = JobKind(rawValue: "test")
}

@Suite("JobRunnerMachine")
struct JobRunnerMachineTests {
    private struct Trouble: Error {}

    private func machine(running jobs: Job...) -> JobRunnerMachine {
        var machine = JobRunnerMachine(slots: [.test: 2])
        for job in jobs { machine.start(job, deadline: .now) }
        return machine
    }

    @Test("as many jobs of a kind are wanted as it has free slots, and none after stop")
    func slots() {
        var machine = machine(running: .test(1))
        #expect(machine.wanted == [.test: 1])
        machine.start(.test(2), deadline: .now)
        #expect(machine.wanted == [:])
        _ = machine.end(Job.test(1).run, failure: nil, random: 0)
        #expect(machine.wanted == [.test: 1])
        machine.stop()
        #expect(machine.wanted == [:] && !machine.isDrained)
        _ = machine.end(Job.test(2).run, failure: nil, random: 0)
        #expect(machine.isDrained && machine.ended.map(\.result) == [.done, .done])
        machine.recorded(1)
        #expect(machine.ended.map(\.run) == [Job.test(2).run])
    }

    @Test("a failed job is retried after a pause; after the last attempt or a rejection it is dead")
    func failures() {
        var machine = machine(running: .test(1, attempt: 3), .test(2, isLast: true), .test(3))
        #expect(machine.end(Job.test(1, attempt: 3).run, failure: Trouble(), random: 1) == .retried)
        #expect(machine.end(Job.test(2).run, failure: Trouble(), random: 1) == .dead)
        #expect(machine.end(Job.test(3).run, failure: JobRejected("no"), random: 1) == .dead)
        #expect(
            machine.ended.map(\.result)
                == [.retry(after: .seconds(4), reason: "Trouble()"), .dead(reason: "Trouble()"), .dead(reason: "no")])
    }

    @Test("a cancelled run is returned, retried or lost by the reason of its cancellation; one that succeeded is done")
    func cancellations() {
        var machine = machine(running: .test(1), .test(2), .test(3), .test(4))
        // The first reason counts, and the fifth run is unknown.
        let cancellations: [(Int64, JobRunnerMachine.Cancellation)] = [
            (1, .shutdown), (2, .timeLimit), (2, .shutdown), (3, .leaseLost), (4, .shutdown), (5, .shutdown),
        ]
        let accepted = cancellations.map { id, reason in machine.cancel(Job.test(id).run, because: reason) }
        #expect(accepted == [true, true, false, true, true, false])
        #expect(machine.end(Job.test(1).run, failure: CancellationError(), random: 0) == .returned)
        #expect(machine.end(Job.test(2).run, failure: CancellationError(), random: 0) == .retried)
        #expect(machine.end(Job.test(3).run, failure: CancellationError(), random: 0) == .lost)
        #expect(machine.end(Job.test(4).run, failure: nil, random: 0) == .done)
        #expect(machine.ended.map(\.run.id.raw) == [1, 2, 4])
    }
}
