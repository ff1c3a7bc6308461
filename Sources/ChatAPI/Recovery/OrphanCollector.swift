import BackgroundJobs
import CoachCore
import GatewayAPI
import Logging
import ServiceLifecycle
import TokenRelay

/// Ends turns whose instance has crashed (its lease expired), and those that this instance does not run although the database says so: saves their
/// checkpointed text as `interrupted`, or as `stopped` when a stop was requested, and bills an estimate. If the owner delivers its receipt later, from its
/// spool, that replaces the estimate.
public struct OrphanCollector: Service {
    let recovery: TurnRecovery
    let repository: TurnRepository
    let prices: LiveValue<PriceBook>
    let ratios: TokenRatios
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration

    /// - Parameter interval: between two queries for orphaned turns.
    public init(
        recovery: TurnRecovery, repository: TurnRepository, prices: LiveValue<PriceBook>, ratios: TokenRatios, registry: TurnRegistry,
        logger: Logger, interval: Duration = .seconds(1)
    ) {
        self.recovery = recovery
        self.repository = repository
        self.prices = prices
        self.ratios = ratios
        self.registry = registry
        self.logger = logger
        self.interval = interval
    }

    /// Runs until cancelled.
    public func run() async throws {
        try await PeriodicLoop("recovery of turns", PeriodicSchedule(every: interval), logger: logger).run {
            // Those that cannot be finalized stay for the next round, and keep none from being read.
            var tried: [TurnID] = []
            while case let lot = try await recovery.orphans(tried), !lot.isEmpty {
                tried += lot.map(\.facts.identity.turnID)
                // The registry has a turn of this process until its receipt is saved.
                await finalize(lot.filter { registry.turn($0.facts.identity.turnID) == nil })
            }
        }
    }

    /// Concurrently, so that subscribers of the last orphan do not wait for the others.
    private func finalize(_ orphans: [OrphanedTurn]) async {
        await withDiscardingTaskGroup { group in
            for orphan in orphans { group.addTask { await finalize(orphan) } }
        }
    }

    private func finalize(_ orphan: OrphanedTurn) async {
        let receipt = Self.receipt(for: orphan, prices: prices.current, ratios: ratios)
        do {
            // With another outcome the turn was ended by another instance, or by its owner after all, which has counted it.
            guard try await repository.finish(receipt) == .finalized else { return }
            TurnMetrics.record(receipt)
            logger.notice(
                "a turn of a crashed instance was finalized",
                metadata: [
                    "turn_id": "\(receipt.identity.turnID)", "user_id": "\(receipt.userID)", "status": "\(receipt.status.rawValue)",
                    "bytes": .stringConvertible(receipt.content.utf8.count),
                ])
        } catch StoreFault.unexpected(let reason) {
            // Not tried again: the turn must end, because the conversation accepts no other turn before.
            logger.critical(
                "a receipt is rejected by the database: its turn fails",
                metadata: ["turn_id": "\(receipt.identity.turnID)", "error": "\(reason)"])
            TurnMetrics.rejectedReceipts.increment()
            await fail(receipt)
        } catch {
            logger.error(
                "a turn of a crashed instance could not be finalized yet",
                metadata: ["turn_id": "\(receipt.identity.turnID)", "error": "\(error)"])
        }
    }

    /// Writes the first of the receipt's failures that the database accepts, or abandons the turn. With any other error the turn stays for
    /// the next query.
    private func fail(_ receipt: TurnReceipt) async {
        do {
            for failure in receipt.failures {
                do {
                    _ = try await repository.finish(failure)
                    return
                } catch StoreFault.unexpected {
                    continue
                }
            }
            try await repository.abandon(receipt.userID, receipt.identity)
        } catch {
            logger.error(
                "a turn of a crashed instance could not be ended yet",
                metadata: ["turn_id": "\(receipt.identity.turnID)", "error": "\(error)"])
        }
    }

    /// The receipt of an orphaned turn: its checkpointed text, and a bill by estimated tokens. Pure.
    static func receipt(for orphan: OrphanedTurn, prices: PriceBook, ratios: TokenRatios = TokenRatios()) -> TurnReceipt {
        let (start, facts) = (orphan.start, orphan.facts)
        let billing = CallBilling(prices: LiveValue(prices), ratios: ratios)
        var others = start.unusedCalls
        // As an owner would: without a later one the last accepted call is billed as the answer's.
        let own = start.answeredBy.map { UnusedCall(name: $0, isAccepted: true) } ?? others.takeLastAccepted()
        let bill = billing.bill(
            own?.name, own?.usage ?? TokenUsage(), start.promptTokens, orphan.content.utf8, withheldBytes: own?.textBytes ?? 0,
            reasoningBytes: own?.reasoningBytes ?? 0, on: facts.day)
        // Under the owner's numbers. One without a number is the attempt's first call.
        let numbered = Array(others.prefix(start.recordedCalls.count))
        let otherCalls =
            facts.earlierCalls
            + billing.bills(
                numbered, start.promptTokens, on: facts.day, recordedAs: start.recordedCalls, numberedFrom: facts.nextCallNumber)
        // The owner crashed before it saw the stop; the turn ends as if it had (CONTRACT §4).
        let isStopped = orphan.isStopRequested
        return TurnReceipt(
            userID: facts.userID, identity: facts.identity,
            status: isStopped ? .stopped : orphan.content.isEmpty ? .failed : .interrupted, finishReason: isStopped ? .stopped : nil,
            content: orphan.content, bill: bill, domain: facts.domain, risk: facts.risk, region: facts.region,
            errorCode: isStopped ? nil : ErrorCode.providersUnavailable.rawValue, timeToFirstTokenMilliseconds: nil,
            durationMilliseconds: orphan.durationMilliseconds, finalizedBy: .recovery,
            crisis: CrisisRecord(risk: facts.risk, region: facts.region, hasFixedText: false, versions: nil),
            otherCalls: otherCalls)
    }
}
