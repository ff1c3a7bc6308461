import CoachCore
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import ChatAPI

@Suite("Recording model calls before their requests leave")
struct CallRecorderTests {
    /// A ledger and a disk that the test lets fail.
    private final class Fakes: Sendable {
        enum Behaviour { case works, fails, hangs, rejects }

        struct State {
            var ledger = Behaviour.works
            var disk = Behaviour.works
            var recorded: [PendingCall] = []
            var kept: [String: PendingCall] = [:]
            /// Of rejected ones.
            var rejected: Set<String> = []
            var lastName = 0
            /// Calls that the ledger does not take.
            var locked: Set<Int> = []
            var attempts = 0
        }
        let state: Mutex<State>

        init(ledger: Behaviour = .works, disk: Behaviour = .works) { state = Mutex(State(ledger: ledger, disk: disk)) }

        var recorded: [Int] { state.withLock { $0.recorded.map(\.number) } }
        var kept: [Int] { state.withLock { $0.kept.values.map(\.number).sorted() } }

        func set(ledger: Behaviour? = nil, disk: Behaviour? = nil) {
            state.withLock { state in
                state.ledger = ledger ?? state.ledger
                state.disk = disk ?? state.disk
            }
        }

        /// `disk`: its timeout.
        func records(disk: Duration = .seconds(60), logger: Logger = Fakes.silent) -> CallRecordStore {
            let ledger = CallLedger { [self] call in
                let isLocked = state.withLock { state in
                    state.attempts += 1
                    return state.locked.contains(call.number)
                }
                if isLocked { throw StoreFault.unavailable(retryAfter: 1) }
                switch state.withLock({ $0.ledger }) {
                case .works: break
                case .fails: throw StoreFault.unavailable(retryAfter: 1)
                case .hangs: try await Task.sleep(for: .seconds(600))
                case .rejects: throw StoreFault.unexpected("no such column")
                }
                state.withLock { $0.recorded.append(call) }
                return true
            }
            let spool = CallSpool(
                keep: { [self] call in
                    switch state.withLock({ $0.disk }) {
                    case .works, .rejects: break
                    case .fails: throw CocoaError(.fileWriteOutOfSpace)
                    case .hangs: while state.withLock({ $0.disk == .hangs }) { usleep(1_000) }
                    }
                    return state.withLock { state in
                        state.lastName += 1
                        state.kept["\(state.lastName)"] = call
                        return CallSpool.Handle(name: "\(state.lastName)")
                    }
                },
                discard: { [self] handle in state.withLock { $0.kept[handle.name] = nil } },
                reject: { [self] handle in state.withLock { _ = $0.rejected.insert(handle.name) } },
                pending: { [self] in
                    state.withLock { state in
                        let pending = state.kept.filter { !state.rejected.contains($0.key) }
                        return pending.sorted { $0.key < $1.key }.map { (handle: CallSpool.Handle(name: $0.key), call: $0.value) }
                    }
                })
            return CallRecordStore(ledger: ledger, spool: spool, logger: logger, timeouts: (.milliseconds(20), disk))
        }

        static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

        func recorder(disk: Duration = .seconds(60)) -> CallRecorder {
            let facts = TurnFacts.sample
            return CallRecorder(records(disk: disk), facts.userID, facts.identity, on: facts.day, requestID: "r")
        }
    }

    @Test("in the ledger, with the numbers after the first call and the judge's")
    func ledger() async {
        let fakes = Fakes()
        let recorder = fakes.recorder()
        #expect(!recorder.hasTried)
        for purpose in [CallPurpose.judge, .answer, .answer] { #expect(await recorder.record(purpose)) }
        #expect(fakes.recorded == [2, 3, 4] && fakes.kept == [] && recorder.hasTried)
        #expect(recorder.numbers(of: .judge) == [2] && recorder.numbers(of: .answer) == [3, 4])
        let other = fakes.recorder()
        #expect(await other.record(.answer) && other.numbers(of: .answer) == [3])
    }

    @Test("on disk before the request leaves, when the database fails or takes too long")
    func spooled() async {
        for behaviour in [Fakes.Behaviour.fails, .hangs, .rejects] {
            let fakes = Fakes(ledger: behaviour)
            let recorder = fakes.recorder()
            let keptWhenLeft = await withCheckedContinuation { (continuation: CheckedContinuation<[Int], Never>) in
                recorder.beforeRequest(.answer)({ mayLeave in continuation.resume(returning: mayLeave ? fakes.kept : []) })
            }
            #expect(keptWhenLeft == [3] && fakes.recorded == [], "\(behaviour)")
        }
    }

    @Test("the log names the request of a call that the database did not record")
    func logged() async {
        let (log, facts) = (RequestIDRecorder(), TurnFacts.sample)
        let records = Fakes(ledger: .fails).records(logger: Logger(label: "test") { _ in log })
        #expect(await CallRecorder(records, facts.userID, facts.identity, on: facts.day, requestID: "r").record(.answer))
        #expect(log.requestIDs == ["r"])
    }

    @Test("a call that neither database nor disk takes does not leave, and its number is not used again: it may yet commit")
    func refused() async {
        let fakes = Fakes(ledger: .fails, disk: .fails)
        let recorder = fakes.recorder()
        #expect(await recorder.record(.answer) == false)
        #expect(recorder.numbers(of: .answer).isEmpty && recorder.hasTried)
        fakes.set(ledger: .works)
        #expect(await recorder.record(.answer))
        #expect(fakes.recorded == [4] && recorder.numbers(of: .answer) == [4])
    }

    @Test("a disk that hangs delays no request for longer than its timeout; what it writes later is removed")
    func hangingDisk() async throws {
        let fakes = Fakes(ledger: .fails, disk: .hangs)
        // Long enough for the write to begin beside other tests: one that was given up before is not made at all.
        #expect(await fakes.recorder(disk: .seconds(1)).record(.answer) == false)
        fakes.set(disk: .works)
        try await eventually("the late file") { fakes.state.withLock { $0.lastName == 1 } }
        try await eventually("its removal") { fakes.kept == [] }
    }

    @Test("writes that were given up before they began cost a slow disk nothing")
    func abandoned() async {
        let fakes = Fakes(ledger: .fails, disk: .hangs)
        let recorder = fakes.recorder(disk: .milliseconds(20))
        await withTaskGroup(of: Bool.self) { group in
            for _ in 1...200 { group.addTask { await recorder.record(.answer) } }
            for await isRecorded in group { #expect(!isRecorded) }
        }
        fakes.set(disk: .works)
        // Behind all of them in the queue.
        #expect(await fakes.recorder().record(.answer))
        // Those that hung, at most one on each thread of the pool.
        #expect(fakes.state.withLock { $0.lastName } < 100)
    }

    @Test("a record that the database cannot take now does not hold up those after it; three in a row end the attempt")
    func locked() async throws {
        let fakes = Fakes(ledger: .fails)
        let recorder = fakes.recorder()
        for _ in 3...8 { #expect(await recorder.record(.answer)) }
        fakes.set(ledger: .works)
        let delivery = CallDelivery(records: fakes.records())
        var rejected: Set<CallSpool.Handle> = []
        fakes.state.withLock { ($0.locked, $0.attempts) = ([3, 4, 6, 7, 8], 0) }
        do {
            try await delivery.deliver(&rejected)
            Issue.record("five records are locked")
        } catch is StoreFault {}
        #expect(fakes.recorded == [5] && fakes.kept == [3, 4, 6, 7, 8])
        fakes.state.withLock { $0.attempts = 0 }
        do {
            try await delivery.deliver(&rejected)
            Issue.record("the first three records are locked")
        } catch is StoreFault {}
        #expect(fakes.state.withLock { $0.attempts } == 3 && rejected.isEmpty)
    }

    @Test("a call of a turn that was removed is not recorded, and does not leave")
    func removed() async {
        let fakes = Fakes()
        let records = CallRecordStore(
            ledger: CallLedger { _ in false }, spool: fakes.records().spool,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let facts = TurnFacts.sample
        #expect(await CallRecorder(records, facts.userID, facts.identity, on: facts.day, requestID: "r").record(.answer) == false)
        #expect(fakes.kept == [])
    }

    @Test("what is on disk is delivered when the database is back, and removed; what the database rejects stays, and holds up nothing")
    func delivery() async throws {
        let fakes = Fakes(ledger: .fails)
        let recorder = fakes.recorder()
        for _ in 1...2 { #expect(await recorder.record(.answer)) }
        let delivery = CallDelivery(records: fakes.records())
        var rejected: Set<CallSpool.Handle> = []
        do {
            try await delivery.deliver(&rejected)
            Issue.record("the database is away")
        } catch is StoreFault {}
        #expect(fakes.kept == [3, 4] && rejected.isEmpty)
        fakes.set(ledger: .rejects)
        try await delivery.deliver(&rejected)
        #expect(fakes.kept == [3, 4] && rejected.count == 2 && fakes.state.withLock { $0.rejected.count } == 2)
        fakes.set(ledger: .fails)
        #expect(await recorder.record(.answer))
        fakes.set(ledger: .works)
        try await delivery.deliver(&rejected)
        #expect(fakes.kept == [3, 4] && fakes.recorded == [5])
        // The next process tries all of them.
        rejected = []
        fakes.state.withLock { $0.rejected = [] }
        try await delivery.deliver(&rejected)
        #expect(fakes.kept == [] && fakes.recorded == [5, 3, 4])
    }
}

/// Records the request ids of log lines.
private final class RequestIDRecorder: LogHandler, Sendable {
    private let recorded: Mutex<[String?]> = Mutex([])
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    var requestIDs: [String?] { recorded.withLock { $0 } }

    func log(event: LogEvent) { recorded.withLock { $0.append(event.metadata?["request_id"].map { "\($0)" }) } }
}
