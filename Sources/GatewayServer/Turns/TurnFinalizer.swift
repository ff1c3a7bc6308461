import CoachCore
import Logging
import NIOPosix
import TokenRelay

/// Ends turns when their model has ended: prices, saves, and only then tells the followers. Runs whether or not anybody listens.
public struct TurnFinalizer: Sendable {
    let repository: TurnRepository
    let prices: PriceBook
    let registry: TurnRegistry
    let spool: ReceiptSpool
    let logger: Logger
    let pauses: [Duration]
    let isClosing: @Sendable () -> Bool

    /// `pauses`: between attempts to save while the database is away; the last one repeats. `isClosing`: the process wants to end, and
    /// leaves what is on disk to its next life.
    public init(
        repository: TurnRepository, prices: PriceBook, registry: TurnRegistry, spool: ReceiptSpool, logger: Logger,
        pauses: [Duration] = [.milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1)],
        isClosing: @escaping @Sendable () -> Bool = { false }
    ) {
        self.repository = repository
        self.prices = prices
        self.registry = registry
        self.spool = spool
        self.logger = logger
        self.pauses = pauses
        self.isClosing = isClosing
    }

    /// The whole end of one turn. Returns when it is saved.
    func finalize(_ turn: LiveTurn, _ outcome: TurnOutcome, arrivedAt: ContinuousClock.Instant, requestID: String) async {
        let released = turn.released
        let receipt = TurnReceipt(
            userID: turn.facts.userID, identity: turn.facts.identity, status: outcome.status, finishReason: outcome.finishReason,
            content: String(decoding: released.text, as: UTF8.self),
            bill: bill(outcome, turn, said: released.text),
            domain: turn.facts.domain, risk: turn.facts.risk, country: turn.facts.country, locale: turn.facts.locale,
            errorCode: outcome.finishReason == nil ? "EXT_4001" : nil,
            timeToFirstTokenMilliseconds: released.firstAt.map { (arrivedAt.duration(to: $0)).milliseconds },
            durationMilliseconds: arrivedAt.duration(to: .now).milliseconds)
        TurnMetrics.record(receipt)
        log(receipt, fault: outcome.fault, requestID: requestID)
        let ending = TurnEnding(status: receipt.status, finishReason: receipt.finishReason, bill: receipt.bill)
        switch await save(receipt, requestID: requestID, onDelay: { isOnDisk in turn.close(isOnDisk ? ending : .unsaved) }) {
        case .written(.superseded):
            // This process was taken for dead, and the turn went on elsewhere: that attempt's answer counts. Its readers are told to resume.
            registry.remove(turn)
            turn.notifyAll(.handOver)
        case .refused:
            turn.close(.refused)
            registry.remove(turn)
        case .written, .leftOnDisk:
            turn.close(ending)
            registry.remove(turn)
        }
    }

    /// What became of a receipt.
    private enum Delivery {
        case written(ReceiptOutcome)
        /// The process ends; its next life delivers it.
        case leftOnDisk
        /// The database takes everything but this: its turn has failed.
        case refused
    }

    /// Tries until the receipt is in the ledger. When the first attempt fails the receipt goes to disk, where it outlives the process, and
    /// the followers are told the end: they do not wait for a database that is away. When the disk is full they are told that nothing is saved.
    /// A receipt that the database refuses is not told as saved: it may have to fail.
    private func save(
        _ receipt: TurnReceipt, requestID: String, ticket kept: ReceiptSpool.Handle? = nil, onDelay: (_ isOnDisk: Bool) -> Void = { _ in }
    ) async -> Delivery {
        var ticket = kept
        var attempt = 0
        var refusals = 0
        var isTold = false
        while true {
            do {
                let outcome = try await repository.finish(receipt)
                if let ticket { spool.discard(ticket) }
                return .written(outcome)
            } catch {
                if attempt == 0 {
                    logger.error("a turn could not be saved yet", metadata: naming(receipt, requestID, error))
                    if ticket == nil { ticket = await keep(receipt, requestID) }
                }
                attempt += 1
                if case StoreFault.unexpected? = error as? StoreFault {
                    refusals += 1
                    if refusals >= Self.patience { return await fail(receipt, requestID, error) }
                } else if !isTold {
                    onDelay(ticket != nil)
                    isTold = true
                }
                if Task.isCancelled || (ticket != nil && isClosing()) { return .leftOnDisk }
                try? await Task.sleep(for: pauses[min(attempt, pauses.count) - 1])
            }
        }
    }

    /// Attempts at a receipt that the database refuses.
    private static let patience = 5

    /// Ends a turn whose receipt the database refuses: trying on would hold the turn and its conversation for ever. The receipt stays on disk.
    /// Written in recovery's name, so that the receipt counts after all, should a later version deliver it.
    private func fail(_ receipt: TurnReceipt, _ requestID: String, _ error: any Error) async -> Delivery {
        logger.critical("a receipt is refused by the database: its turn fails", metadata: naming(receipt, requestID, error))
        TurnMetrics.refusedReceipts.increment()
        var attempt = 0
        while true {
            do {
                _ = try await repository.finish(receipt.failure)
                return .refused
            } catch {
                attempt += 1
                if case StoreFault.unexpected? = error as? StoreFault, attempt >= Self.patience {
                    logger.critical("a turn cannot even fail: it stays running", metadata: naming(receipt, requestID, error))
                    return .refused
                }
                if Task.isCancelled || isClosing() { return .leftOnDisk }
                try? await Task.sleep(for: pauses[min(attempt, pauses.count) - 1])
            }
        }
    }

    /// A full disk is an alarm: the receipt is then in memory alone, and still tried.
    private func keep(_ receipt: TurnReceipt, _ requestID: String) async -> ReceiptSpool.Handle? {
        do {
            // fsync blocks, and tasks run on event loops.
            return try await NIOThreadPool.singleton.runIfActive { try spool.keep(receipt) }
        } catch {
            logger.critical("a receipt could not be spooled: it is lost if this process ends", metadata: naming(receipt, requestID, error))
            return nil
        }
    }

    /// Delivers what an earlier life of this instance left on disk. Returns when all of it is in the ledger.
    public func deliverLeftovers() async {
        let pending: [(ticket: ReceiptSpool.Handle, receipt: TurnReceipt)]
        do { pending = try spool.pending() } catch {
            return logger.critical("the spool cannot be read", metadata: ["error": "\(error)"])
        }
        for (ticket, receipt) in pending {
            guard case .written = await save(receipt, requestID: "spool", ticket: ticket) else { continue }
            logger.notice("a spooled receipt was delivered", metadata: ["turn_id": "\(receipt.identity.turnID)"])
        }
    }

    private func naming(_ receipt: TurnReceipt, _ requestID: String, _ error: any Error) -> Logger.Metadata {
        ["request_id": "\(requestID)", "turn_id": "\(receipt.identity.turnID)", "error": "\(error)"]
    }

    /// What the call cost. A provider that accepted the call and reported no usage is billed by an estimate.
    /// Priced as of the day on which the attempt began, on the database's clock: this machine's may be wrong.
    private func bill(_ outcome: TurnOutcome, _ turn: LiveTurn, said: [UInt8]) -> TurnBill? {
        guard let name = outcome.answeredBy else { return nil }
        let reported = outcome.usage.input != nil && outcome.usage.output != nil
        let usage = reported ? outcome.usage.storable : TokenEstimate.usage(promptTokens: turn.promptTokens, said: said)
        return TurnBill(
            provider: name.provider, model: name.model, usage: usage, cost: prices.cost(of: usage, at: name, on: turn.facts.day),
            estimated: !reported)
    }

    private func log(_ receipt: TurnReceipt, fault: ModelFault?, requestID: String) {
        var metadata: Logger.Metadata = [
            "request_id": "\(requestID)", "turn_id": "\(receipt.identity.turnID)", "user_id": "\(receipt.userID)",
            "status": "\(receipt.status.rawValue)", "domain": "\(receipt.domain.domain?.rawValue ?? "none")",
            "tier": .stringConvertible(receipt.risk.tier.rawValue), "model": "\(receipt.bill?.model ?? "none")",
            "bytes": .stringConvertible(receipt.content.utf8.count), "duration_ms": .stringConvertible(receipt.durationMilliseconds),
            "fault": "\(fault.map { "\($0.kind.rawValue): \($0.detail)" } ?? "none")",
        ]
        // What is unknown is left out.
        metadata["output_tokens"] = receipt.bill?.usage.totalOutput.map { .stringConvertible($0) }
        metadata["ttft_ms"] = receipt.timeToFirstTokenMilliseconds.map { .stringConvertible($0) }
        logger.info("turn ended", metadata: metadata)
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    var milliseconds: Int { Int(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000) }
}
