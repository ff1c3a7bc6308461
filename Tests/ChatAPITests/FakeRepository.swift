import CoachCore
import Foundation
import Logging
import Synchronization
import TokenRelay

@testable import ChatAPI

/// A repository that the test makes unavailable, and a spool.
final class FakeRepository: Sendable {
    struct State {
        var failuresLeft: Int
        /// Rejects receipts that are not of failures.
        var rejects = false
        /// Of the receipts of failures, how many more are rejected.
        var rejectionsLeft = 0
        var failure: TurnReceipt?
        var canAbandon = true
        /// How often it was tried, and which turns were abandoned.
        var abandonments = 0
        var abandoned: [TurnIdentity] = []
        var receipts: [TurnReceipt] = []
        var attempts = 0
        var finished = 0
        var kept = 0
        var discarded = 0
        /// What is on disk.
        var files: [ReceiptSpool.Handle: TurnReceipt] = [:]
        var isClosing = false
    }
    private let state: Mutex<State>
    private let diskIsFull: Bool
    private let outcome: ReceiptOutcome
    private let patience: Duration
    let registry = TurnRegistry()

    /// - Parameter leftovers: on disk from an earlier process.
    init(
        failures: Int, diskIsFull: Bool = false, outcome: ReceiptOutcome = .finalized, leftovers: [TurnReceipt] = [],
        patience: Duration = .seconds(5)
    ) {
        self.patience = patience
        var state = State(failuresLeft: failures)
        for receipt in leftovers { state.files[.init(name: "\(receipt.identity.turnID)")] = receipt }
        self.state = Mutex(state)
        self.outcome = outcome
        self.diskIsFull = diskIsFull
    }

    /// Finalizes at the model's end, as the pipeline does.
    func finalize(_ turn: LiveTurn, with finalizer: TurnFinalizer? = nil) async {
        let outcome = await withCheckedContinuation { continuation in turn.onOutcome { continuation.resume(returning: $0) } }
        await (finalizer ?? self.finalizer).finalize(turn, outcome, arrivedAt: .now, requestID: "r")
    }

    /// Rejects receipts, and so many of the failures that are written in their place.
    func reject(failures: Int = 0) { state.withLock { ($0.rejects, $0.rejectionsLeft) = (true, failures) } }
    var failure: TurnReceipt? { state.withLock { $0.failure } }
    func rejectAbandoning() { state.withLock { $0.canAbandon = false } }
    func letAbandon() { state.withLock { $0.canAbandon = true } }
    var abandoned: [TurnIdentity] { state.withLock { $0.abandoned } }
    var abandonments: Int { state.withLock { $0.abandonments } }
    /// Those that were written.
    var receipts: [TurnReceipt] { state.withLock { $0.receipts } }
    /// The last one that was written.
    var receipt: TurnReceipt? { receipts.last }

    func becomeReachable() { state.withLock { $0.failuresLeft = 0 } }
    func close() { state.withLock { $0.isClosing = true } }

    var attempts: Int { state.withLock { $0.attempts } }
    var finished: Int { state.withLock { $0.finished } }
    var kept: Int { state.withLock { $0.kept } }
    var discarded: Int { state.withLock { $0.discarded } }

    var repository: TurnRepository {
        TurnRepository(
            begin: { _, _, _ in throw StoreFault.unavailable(retryAfter: 1) }, repeated: { _, _ in nil },
            retry: { _, _ in throw StoreFault.unavailable(retryAfter: 1) }, repeatedRetry: { _, _ in nil }, raiseRisk: { _, _, _ in },
            finish: { [self] receipt in
                try state.withLock { state in
                    state.attempts += 1
                    if state.rejects {
                        guard receipt.status == .failed else { throw StoreFault.unexpected("no such column") }
                        guard state.rejectionsLeft == 0 else {
                            state.rejectionsLeft -= 1
                            throw StoreFault.unexpected("no such category")
                        }
                        state.failure = receipt
                    }
                    guard state.failuresLeft == 0 else {
                        state.failuresLeft -= 1
                        throw StoreFault.unavailable(retryAfter: 1)
                    }
                    state.finished += 1
                    state.receipts.append(receipt)
                }
                return outcome
            },
            abandon: { [self] _, turn in
                try state.withLock { state in
                    state.abandonments += 1
                    guard state.canAbandon else { throw StoreFault.unexpected("no such column") }
                    state.abandoned.append(turn)
                }
            })
    }

    var finalizer: TurnFinalizer {
        let spool = ReceiptSpool(
            keep: { [self] receipt in
                if diskIsFull { throw CocoaError(.fileWriteOutOfSpace) }
                let handle = ReceiptSpool.Handle(name: "\(receipt.identity.turnID)")
                state.withLock { ($0.kept, $0.files[handle]) = ($0.kept + 1, receipt) }
                return handle
            },
            discard: { [self] handle in state.withLock { ($0.discarded, $0.files[handle]) = ($0.discarded + 1, nil) } },
            pending: { [self] known in
                state.withLock { $0.files.filter { !known.contains($0.key) }.map { (handle: $0.key, receipt: $0.value) } }
            })
        return TurnFinalizer(
            repository: repository, prices: LiveValue(PriceBook([])), registry: registry, spool: spool,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            pauses: [.zero], patience: patience, isClosing: { [self] in state.withLock { $0.isClosing } })
    }
}
