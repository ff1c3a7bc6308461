import CoachCore
import GatewayAPI
import HTTPEdge
import Logging
import NIOPosix
import TokenRelay

/// Ends turns after their model call: computes the cost, saves message, usage and cost (the receipt), and only then reports the end to the
/// subscribers. Does not depend on subscribers.
public struct TurnFinalizer: Sendable {
    let repository: TurnRepository
    let billing: CallBilling
    let registry: TurnRegistry
    let spool: ReceiptSpool
    let logger: Logger
    let pauses: [Duration]
    let patience: Duration
    let isClosing: @Sendable () -> Bool
    let known = KnownReceipts()

    /// - Parameters:
    ///   - pauses: between attempts to save while the database is unavailable; the last one repeats; nil: the default.
    ///   - patience: how long a receipt on disk is still tried in a process that is shutting down.
    ///   - isClosing: whether the process is shutting down. Receipts that cannot be saved then are left on disk.
    public init(
        repository: TurnRepository, prices: LiveValue<PriceBook>, ratios: TokenRatios = TokenRatios(), registry: TurnRegistry,
        spool: ReceiptSpool, logger: Logger, pauses: [Duration]? = nil, patience: Duration = .seconds(5),
        isClosing: @escaping @Sendable () -> Bool = { false }
    ) {
        self.repository = repository
        billing = CallBilling(prices: prices, ratios: ratios, logger: logger)
        self.registry = registry
        self.spool = spool
        self.logger = logger
        self.pauses = pauses ?? ReceiptAttempts.defaultPauses
        self.patience = patience
        self.isClosing = isClosing
    }

    /// Ends one turn. Returns the bills of its calls when it is saved.
    /// - Parameters:
    ///   - recorder: of its calls.
    ///   - versions: of what decided about its safety.
    @discardableResult
    func finalize(
        _ turn: LiveTurn, _ outcome: TurnOutcome, _ recorder: CallRecorder? = nil, _ versions: CrisisRecord.Versions? = nil,
        arrivedAt: ContinuousClock.Instant, requestID: String
    ) async -> [TurnBill] {
        let receipt = receipt(for: turn, outcome, recorder, versions, arrivedAt: arrivedAt)
        TurnMetrics.record(receipt)
        for kind in outcome.replaced { TurnMetrics.replaced(kind) }
        log(receipt, outcome, requestID: requestID)
        let ending = TurnEnding(
            status: receipt.status, finishReason: receipt.finishReason, bill: receipt.bill, retryAfter: outcome.fault?.retryAfter)
        switch await save(receipt, requestID: requestID, onDelay: { isOnDisk in turn.close(isOnDisk ? ending : .unsaved(receipt.bill)) }) {
        case .written(.superseded):
            // The lease expired, and another instance has begun the next attempt. Subscribers must resume there.
            registry.remove(turn)
            turn.handOver()
        case .rejected:
            turn.close(.rejected)
            registry.remove(turn)
        case .written, .leftOnDisk:
            turn.close(ending)
            registry.remove(turn)
        }
        return ([receipt.bill] + (receipt.otherCalls ?? []).map(\.bill)).compactMap(\.self)
    }

    /// What is saved of a turn whose model call has ended.
    private func receipt(
        for turn: LiveTurn, _ outcome: TurnOutcome, _ recorder: CallRecorder?, _ versions: CrisisRecord.Versions?,
        arrivedAt: ContinuousClock.Instant
    ) -> TurnReceipt {
        let released = turn.released
        let otherCalls =
            turn.facts.earlierCalls
            + billing.bills(
                outcome.unusedCalls, turn.promptTokens, on: turn.facts.day, recordedAs: recorder?.numbers(of: .answer) ?? [],
                numberedFrom: turn.facts.nextCallNumber)
        return TurnReceipt(
            userID: turn.facts.userID, identity: turn.facts.identity, status: outcome.status, finishReason: outcome.finishReason,
            content: String(decoding: released.text, as: UTF8.self),
            bill: billing.bill(
                outcome.answeredBy, outcome.usage, turn.promptTokens, outcome.hasFixedText ? [] : released.text.suffix(outcome.modelBytes),
                withheldBytes: outcome.withheldBytes, reasoningBytes: outcome.reasoningBytes, on: turn.facts.day),
            domain: turn.facts.domain, risk: turn.facts.risk, region: turn.facts.region,
            errorCode: outcome.finishReason == nil ? ErrorCode.providersUnavailable.rawValue : nil,
            timeToFirstTokenMilliseconds: released.firstAt.map { arrivedAt.duration(to: $0).milliseconds },
            durationMilliseconds: arrivedAt.duration(to: .now).milliseconds, summaryTokens: turn.facts.summaryTokens,
            crisis: CrisisRecord(
                risk: turn.facts.risk, region: turn.facts.region, hasFixedText: outcome.hasFixedText, replaced: outcome.replaced,
                versions: versions),
            otherCalls: otherCalls.isEmpty && recorder?.hasTried != true ? nil : otherCalls)
    }

    /// Ends a turn as failed that has begun and is rejected before its model call. Returns when that is saved, or when the first attempt
    /// failed: then it is saved in the background.
    func reject(_ context: TurnContext, of userID: UserID, code: ErrorCode, requestID: String) async {
        let receipt = TurnReceipt(
            userID: userID, identity: context.identity, status: .failed, finishReason: nil, content: "", bill: nil,
            domain: .undecided, risk: nil, region: context.region,
            errorCode: code.rawValue, timeToFirstTokenMilliseconds: nil, durationMilliseconds: 0)
        do {
            _ = try await repository.finish(receipt)
        } catch {
            // Never cancelled, as in `TurnPipeline.finish`.
            Task { _ = await save(receipt, requestID: requestID) }
        }
    }

    /// The result of `save`.
    enum SaveResult {
        case written(ReceiptOutcome)
        /// The process ends, and the next one has the receipt; before, `ReceiptDelivery` as long as other turns run here, unless the database rejects it.
        case leftOnDisk
        /// The database rejected the receipt; the turn was ended as failed.
        case rejected
    }

    /// Retries until the receipt is in the database. After the first failure it writes the receipt to disk, where it survives the process. Then it calls
    /// `onDelay`, so that streams end without waiting for the database; if the disk fails too, they end as unsaved. It does not call
    /// `onDelay` while the database rejects the receipt, because the turn may have to end as failed.
    func save(
        _ receipt: TurnReceipt, requestID: String, handle kept: ReceiptSpool.Handle? = nil, onDelay: (_ isOnDisk: Bool) -> Void = { _ in }
    ) async -> SaveResult {
        var handle = kept
        if let handle { known.insert(handle) }
        var attempts = ReceiptAttempts(pauses: pauses)
        var isReported = false
        // The database may be away for a moment only, and the files of a machine that is given up are never delivered.
        var givesUpAt: ContinuousClock.Instant?
        while true {
            do {
                let outcome = try await repository.finish(receipt)
                if let handle {
                    await NIOThreadPool.singleton.runToEnd { [spool] in spool.discard(handle) }
                    known.remove(handle)
                }
                return .written(outcome)
            } catch {
                if attempts.failures == 0 {
                    logger.error("a turn could not be saved yet", metadata: naming(receipt, requestID, error))
                    if handle == nil { handle = await keep(receipt, requestID) }
                }
                if attempts.failed(error) {
                    if attempts.rejections >= ReceiptAttempts.maximumRejections { return await fail(receipt, requestID, error) }
                } else if !isReported {
                    onDelay(handle != nil)
                    isReported = true
                }
                if givesUpAt == nil, isClosing() { givesUpAt = .now + patience }
                if Task.isCancelled || (handle != nil && givesUpAt.map { $0 <= .now } == true) {
                    if let handle { known.remove(handle) }
                    return .leftOnDisk
                }
                await attempts.pause()
            }
        }
    }

    /// Ends a turn as failed because the database rejects its receipt: with further attempts the turn and its conversation would be blocked
    /// for ever. The receipt stays on disk. The failure is written as by recovery, so that the receipt replaces it if a later version can
    /// deliver it. When the failures are rejected, too, the turn is abandoned in the background.
    private func fail(_ receipt: TurnReceipt, _ requestID: String, _ error: any Error) async -> SaveResult {
        logger.critical("a receipt is rejected by the database: its turn fails", metadata: naming(receipt, requestID, error))
        TurnMetrics.rejectedReceipts.increment()
        var failures = receipt.failures[...]
        var attempts = ReceiptAttempts(pauses: pauses)
        while let failure = failures.first {
            do {
                _ = try await repository.finish(failure)
                return .rejected
            } catch {
                if attempts.failed(error), attempts.rejections.isMultiple(of: ReceiptAttempts.maximumRejections) {
                    logger.critical("a turn cannot be saved as failed", metadata: naming(receipt, requestID, error))
                    failures.removeFirst()
                }
                if Task.isCancelled || isClosing() { return .leftOnDisk }
                await attempts.pause()
            }
        }
        // Not awaited: clients are told of the failure, however long this takes. Ends by itself, and is never cancelled.
        Task { await abandon(receipt, requestID) }
        return .rejected
    }

    /// Retries until the turn no longer runs, or the process is shutting down: then recovery finds the turn and does the same.
    private func abandon(_ receipt: TurnReceipt, _ requestID: String) async {
        var isReported = false
        while !isClosing() {
            do {
                return try await repository.abandon(receipt.userID, receipt.identity)
            } catch {
                if !isReported {
                    logger.critical("a turn cannot be abandoned: its conversation is blocked", metadata: naming(receipt, requestID, error))
                }
                isReported = true
                try? await Task.sleep(for: pauses.last ?? .seconds(1))
            }
        }
    }

    /// Writes the receipt to disk; nil when that fails. Then the receipt is only in memory, and saving is still retried.
    private func keep(_ receipt: TurnReceipt, _ requestID: String) async -> ReceiptSpool.Handle? {
        do {
            // fsync blocks, and tasks run on event loops.
            let handle = try await NIOThreadPool.singleton.runIfActive { try spool.keep(receipt) }
            known.insert(handle)
            return handle
        } catch {
            logger.critical("a receipt could not be spooled: it is lost if this process ends", metadata: naming(receipt, requestID, error))
            return nil
        }
    }

    private func naming(_ receipt: TurnReceipt, _ requestID: String, _ error: any Error) -> Logger.Metadata {
        ["request_id": "\(requestID)", "turn_id": "\(receipt.identity.turnID)", "error": "\(error)"]
    }

    private func log(_ receipt: TurnReceipt, _ outcome: TurnOutcome, requestID: String) {
        var metadata: Logger.Metadata = [
            "request_id": "\(requestID)", "turn_id": "\(receipt.identity.turnID)", "user_id": "\(receipt.userID)",
            "status": "\(receipt.status.rawValue)", "domain": "\(receipt.domain.domain?.rawValue ?? "none")",
            "tier": .stringConvertible((receipt.risk?.tier ?? .none).rawValue), "model": "\(receipt.bill?.name.model ?? "none")",
            "bytes": .stringConvertible(receipt.content.utf8.count), "duration_ms": .stringConvertible(receipt.durationMilliseconds),
            "fault": "\(outcome.fault.map { "\($0.kind.rawValue): \($0.detail)" } ?? "none")",
        ]
        if !outcome.replaced.isEmpty {
            metadata["safety_replaced"] = "\(outcome.replaced.map(\.rawValue).joined(separator: " "))"
        }
        // Unknown values are left out.
        metadata["output_tokens"] = receipt.bill?.usage.totalOutput.map { .stringConvertible($0) }
        metadata["ttft_ms"] = receipt.timeToFirstTokenMilliseconds.map { .stringConvertible($0) }
        logger.info("turn ended", metadata: metadata)
    }
}
