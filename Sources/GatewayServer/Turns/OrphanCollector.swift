import BackgroundJobs
import CoachCore
import Logging
import ServiceLifecycle
import TokenRelay

/// Settles turns whose instance died: their text is kept as `interrupted`, and an estimate is billed. The dead owner's own receipt, should
/// its spool ever deliver it, replaces the estimate.
public struct OrphanCollector: Service {
    let recovery: TurnRecovery
    let repository: TurnRepository
    let prices: PriceBook
    let registry: TurnRegistry
    let logger: Logger
    let interval: Duration

    /// `interval`: how often the dead are looked for.
    public init(
        recovery: TurnRecovery, repository: TurnRepository, prices: PriceBook, registry: TurnRegistry, logger: Logger,
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
            // At once: subscribers of the last of many wait no longer than those of the first.
            await withDiscardingTaskGroup { group in
                for orphan in orphans { group.addTask { await finalize(orphan) } }
            }
        }
    }

    private func finalize(_ orphan: OrphanedTurn) async {
        let receipt = Self.receipt(for: orphan, prices: prices)
        do {
            _ = try await repository.finish(receipt)
            logger.notice(
                "a dead instance's turn was settled",
                metadata: [
                    "turn_id": "\(receipt.identity.turnID)", "user_id": "\(receipt.userID)", "status": "\(receipt.status.rawValue)",
                    "bytes": .stringConvertible(receipt.content.utf8.count),
                ])
        } catch StoreFault.unexpected(let reason) {
            // Trying the same again would stand in the way of other turns for ever.
            logger.critical(
                "a receipt is refused by the database: its turn fails",
                metadata: ["turn_id": "\(receipt.identity.turnID)", "error": "\(reason)"])
            TurnMetrics.refusedReceipts.increment()
            _ = try? await repository.finish(receipt.failure)
        } catch {
            logger.error(
                "a dead instance's turn could not be settled yet",
                metadata: ["turn_id": "\(receipt.identity.turnID)", "error": "\(error)"])
        }
    }

    /// What is left of a cut turn, as a receipt. Pure.
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
            country: orphan.facts.country, locale: orphan.facts.locale, errorCode: "EXT_4001", timeToFirstTokenMilliseconds: nil,
            durationMilliseconds: orphan.durationMilliseconds, finalizedBy: .recovery)
    }
}
