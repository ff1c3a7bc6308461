import CoachCore
import Logging
import Synchronization

/// Records model calls of an attempt in the ledger before their requests leave: those of a turn after its first, which `begin_turn` records, or those
/// of a summary. A failover waits for that as long as `CallLedger.patience`; a call that could not be recorded gets its row with the receipt.
final class CallRecorder: Sendable {
    private let ledger: CallLedger
    private let userID: UserID
    private let template: PendingCall
    private let logger: Logger
    /// Those of the calls that exist already, and of the recorded ones after them.
    private let taken: Mutex<[Int]>

    /// For a turn.
    init(_ ledger: CallLedger, _ userID: UserID, _ identity: TurnIdentity, logger: Logger) {
        self.ledger = ledger
        self.userID = userID
        self.logger = logger
        template = PendingCall(turnID: identity.turnID, attempt: identity.attempt, number: nil, purpose: .answer)
        taken = Mutex([BilledCall.answerNumber])
    }

    /// For a summary, whose first call is recorded. Other summaries of the same turn may be made at the same time.
    init(_ ledger: CallLedger, _ userID: UserID, _ request: SummaryRequest, _ task: SummaryTask, logger: Logger) {
        self.ledger = ledger
        self.userID = userID
        self.logger = logger
        template = PendingCall(turnID: request.turnID, attempt: request.attempt, number: nil, purpose: .summary, day: task.day)
        taken = Mutex([task.call])
    }

    /// The numbers of the recorded calls, in the order of their requests.
    var numbers: ArraySlice<Int> { taken.withLock { $0.dropFirst() } }

    /// Records the next call.
    func record(_ purpose: CallPurpose) async {
        var call = template
        call.purpose = purpose
        if purpose != .summary {
            call.number = taken.withLock { taken in
                let isFirst = taken.count == 1 && purpose == .judge
                let number = isFirst ? BilledCall.judgeNumber : max(BilledCall.judgeNumber, taken.last ?? 0) + 1
                taken.append(number)
                return number
            }
        }
        let result = await recordInTime(call)
        if case .failure(let error) = result {
            logger.warning(
                "a model call is not recorded before its request leaves",
                metadata: ["turn_id": "\(call.turnID)", "error": "\(error)"])
        }
        guard call.number == nil else { return }
        taken.withLock { $0.append((try? result.get()) ?? ($0.last ?? 0) + 1) }
    }

    /// For the further requests of a model call.
    func beforeRequest(_ purpose: CallPurpose) -> LanguageModel.BeforeRequest {
        { proceed in
            // Not a child of the request, whose connection may be closed. It ends with its patience.
            Task {
                await self.record(purpose)
                proceed()
            }
        }
    }

    private func recordInTime(_ call: PendingCall) async -> Result<Int, any Error> {
        await withTaskGroup(of: Result<Int, any Error>.self) { group in
            group.addTask { [ledger, userID] in
                do { return .success(try await ledger.record(userID, call)) } catch { return .failure(error) }
            }
            group.addTask {
                try? await Task.sleep(for: CallLedger.patience)
                return .failure(StoreFault.unavailable(retryAfter: 1))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(CancellationError())
        }
    }
}
