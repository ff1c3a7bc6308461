import CoachCore
import Synchronization

/// Records model calls of an attempt before their requests leave: those of a turn after its first, which `begin_turn` records, or those of a summary
/// after its first. In the ledger, or on disk when the database does not confirm it in time; a call that neither has does not leave.
final class CallRecorder: Sendable {
    private struct State {
        /// In the order of their requests.
        var recorded: [(number: Int, purpose: CallPurpose)] = []
        /// The highest number that was used. A record that failed may still be committed, so its number is never that of another call.
        var last: Int
        /// The ledger may have a record.
        var hasTried = false
    }

    private let records: CallRecordStore
    private let template: PendingCall
    /// Of the request whose turn this is; nil for a summary.
    private let requestID: String?
    private let state: Mutex<State>

    /// For a turn.
    init(_ records: CallRecordStore, _ userID: UserID, _ identity: TurnIdentity, on day: CalendarDay, requestID: String) {
        self.records = records
        self.requestID = requestID
        template = PendingCall(
            userID: userID, turnID: identity.turnID, attempt: identity.attempt, number: BilledCall.answerNumber, purpose: .answer, day: day)
        state = Mutex(State(last: BilledCall.answerNumber))
    }

    /// For a summary.
    init(_ records: CallRecordStore, _ userID: UserID, _ request: SummaryRequest, _ task: SummaryTask) {
        self.records = records
        requestID = nil
        template = PendingCall(
            userID: userID, turnID: request.turnID, attempt: request.attempt, number: task.call, purpose: .summary, day: task.day)
        state = Mutex(State(last: task.call))
    }

    /// The numbers of the recorded calls of a purpose, in the order of their requests.
    func numbers(of purpose: CallPurpose) -> [Int] { state.withLock { $0.recorded.filter { $0.purpose == purpose }.map(\.number) } }

    /// Whether the ledger may have calls of which the receipt's sender knows nothing.
    var hasTried: Bool { state.withLock(\.hasTried) }

    /// Records the next call. False: its request must not leave.
    func record(_ purpose: CallPurpose) async -> Bool {
        var call = template
        call.purpose = purpose
        call.number = state.withLock { state in
            state.hasTried = true
            // The judge is asked before the answer, if at all.
            state.last = max(state.last, purpose == .answer ? BilledCall.judgeNumber : 0) + 1
            state.recorded.append((state.last, purpose))
            return state.last
        }
        if await records.record(call, requestID: requestID) { return true }
        state.withLock { state in state.recorded.removeAll { $0.number == call.number } }
        return false
    }

    /// For the further requests of a model call.
    func beforeRequest(_ purpose: CallPurpose) -> LanguageModel.BeforeRequest {
        { proceed in
            // Not a child of the request, whose connection may be closed. It ends with the timeouts of `CallLedger`.
            Task { proceed(await self.record(purpose)) }
        }
    }
}
