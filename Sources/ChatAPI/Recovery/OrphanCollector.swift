import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import TokenRelay

/// Finalizes turns of dead instances: their text is kept as `interrupted`, and an estimate is billed. A later receipt from the owner's spool replaces
/// the estimate.
public struct OrphanCollector: Service {
    let recovery: TurnRecovery
    let repository: TurnRepository
    let prices: LiveValue<PriceBook>
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration

    /// `interval`: between two queries for orphans.
    public init(
        recovery: TurnRecovery, repository: TurnRepository, prices: LiveValue<PriceBook>, registry: TurnRegistry, logger: Logger,
        interval: Duration = .seconds(1)
    ) {
        self.recovery = recovery
        self.repository = repository
        self.prices = prices
        self.registry = registry
        self.logger = logger
        self.interval = interval
    }

    /// Until cancelled.
    public func run() async throws {
        try await PeriodicLoop("recovery of turns", PeriodicSchedule(every: interval), logger: logger).run {
            let orphans = try await recovery.orphans().filter { registry.turn($0.facts.identity.turnID) == nil }
            // Concurrently: subscribers of the last orphan wait no longer than those of the first.
            await withDiscardingTaskGroup { group in
                for orphan in orphans { group.addTask { await finalize(orphan) } }
            }
        }
    }

    private func finalize(_ orphan: OrphanedTurn) async {
        let receipt = Self.receipt(for: orphan, prices: prices.current)
        do {
            _ = try await repository.finish(receipt)
            logger.notice(
                "a dead instance's turn was finalized",
                metadata: [
                    "turn_id": "\(receipt.identity.turnID)", "user_id": "\(receipt.userID)", "status": "\(receipt.status.rawValue)",
                    "bytes": .stringConvertible(receipt.content.utf8.count),
                ])
        } catch StoreFault.unexpected(let reason) {
            // A repeated attempt would block other turns for ever.
            logger.critical(
                "a receipt is rejected by the database: its turn fails",
                metadata: ["turn_id": "\(receipt.identity.turnID)", "error": "\(reason)"])
            TurnMetrics.refusedReceipts.increment()
            _ = try? await repository.finish(receipt.failure)
        } catch {
            logger.error(
                "a dead instance's turn could not be finalized yet",
                metadata: ["turn_id": "\(receipt.identity.turnID)", "error": "\(error)"])
        }
    }

    /// The receipt of an orphaned turn. Pure.
    static func receipt(for orphan: OrphanedTurn, prices: PriceBook) -> TurnReceipt {
        let bill = orphan.answeredBy.map { name in
            let usage = TokenUsage(input: orphan.promptTokens, output: TokenEstimate.tokens(in: orphan.content.utf8))
            return TurnBill(
                provider: name.provider, model: name.model, usage: usage, cost: prices.cost(of: usage, at: name, on: orphan.facts.day),
                estimated: true)
        }
        return TurnReceipt(
            userID: orphan.facts.userID, identity: orphan.facts.identity, status: orphan.content.isEmpty ? .failed : .interrupted,
            finishReason: nil, content: orphan.content, bill: bill, domain: orphan.facts.domain, risk: orphan.facts.risk,
            region: orphan.facts.region, errorCode: "EXT_4001", timeToFirstTokenMilliseconds: nil,
            durationMilliseconds: orphan.durationMilliseconds, finalizedBy: .recovery,
            crisis: CrisisRecord(risk: orphan.facts.risk, region: orphan.facts.region, hasFixedText: false, versions: nil))
    }
}
