import CoachCore
import HTTPEdge
import TokenRelay

/// Makes the rolling summary of a conversation, in a job after the turn that no longer fitted its history into the prompt.
public struct ConversationSummarizer: Sendable {
    private let repository: SummaryRepository
    private let delivery: SummaryDelivery
    private let coaching: LiveValue<CoachingConfiguration>
    private let models: TierModels
    private let tiers: LiveValue<TierBook>
    private let records: CallRecordStore
    private let budgets: SharedBudgets
    private let billing: CallBilling

    public init(
        repository: SummaryRepository, records: CallRecordStore, coaching: LiveValue<CoachingConfiguration>, models: TierModels,
        tiers: LiveValue<TierBook>, budgets: SharedBudgets, prices: LiveValue<PriceBook>, ratios: TokenRatios
    ) {
        self.repository = repository
        delivery = SummaryDelivery(save: repository.finish)
        self.records = records
        self.budgets = budgets
        self.coaching = coaching
        self.models = models
        self.tiers = tiers
        billing = CallBilling(prices: prices, ratios: ratios)
    }

    /// One model call, in the turn's route; false when nothing is left to summarise, or a budget of the user, or one that users share, is
    /// used up. Each request has its row in the ledger, also one without a usable text.
    /// Throws `StoreFault`, and `SummaryFailed` when the call made no summary.
    public func summarizePart(_ request: SummaryRequest, of userID: UserID) async throws -> Bool {
        guard let task = try await repository.begin(userID, request) else { return false }
        let book = tiers.current
        let tier = book.tier(named: task.tier)
        var prompt = coaching.current.prompts.summaryPrompt(of: task.messages, after: task.summary)
        prompt.tracing = .measuring
        let promptTokens = TokenEstimate.tokens(in: prompt)
        let model = models.model(tier, task.domain, task.personaID)
        let unmade = SummaryReceipt(
            request: request, task: task, summary: "",
            calls: [BilledCall(number: task.call, purpose: .summary, name: nil, bill: nil)])
        let estimate = billing.bill(model.firstChoice, TokenUsage(), promptTokens, [], on: task.day)
        do {
            guard let estimate, try await repository.estimate(userID, request, task, estimate) else { return false }
        } catch {
            // It may have been saved, and nothing is to be billed.
            _ = try await delivery.finish(userID, unmade)
            throw error
        }
        // Nor is it made while the database does not say what is left of a budget. A later turn asks for the summary again.
        let shared = book.sharedBudgets(of: tier, persona: task.personaID)
        guard let reservation = try? await budgets.reserve(book.reservePerTurn ?? Nanodollars(0), of: shared, on: task.day) else {
            return try await delivery.finish(userID, unmade)
        }
        let recorder = CallRecorder(records, userID, request, task)
        let answer = await SummaryCall.run(prompt, model, recorder.beforeRequest(.summary))
        let calls = bills(answer, of: task, recorder.numbers(of: .summary), promptTokens: promptTokens)
        budgets.charge(reservation, cost: Nanodollars(sumOf: calls.compactMap(\.bill).map(\.cost)))
        // Notes that were cut would replace whole ones; without earlier ones they are better than none.
        let isTaken = answer.end == .stop || answer.end == .unknown || (answer.end == .length && task.summary == nil)
        let text = isTaken ? String(decoding: answer.text.filter { $0 != 0 }, as: UTF8.self) : ""
        let isReplaced = try await delivery.finish(
            userID, SummaryReceipt(request: request, task: task, summary: PromptBuilder.summary(text), calls: calls))
        TurnMetrics.record(calls.map(\.bill))
        // The next attempt would be cut, too.
        if !isReplaced, answer.end != .length, text.allSatisfy(\.isWhitespace) { throw SummaryFailed(end: answer.end) }
        return isReplaced
    }
}

extension ConversationSummarizer {
    private func bills(
        _ answer: WholeAnswer, of task: SummaryTask, _ recorded: [Int], promptTokens: Int
    ) -> [BilledCall] {
        let own = BilledCall(
            number: task.call, purpose: .summary, name: answer.calls.ended.answeredBy,
            bill: billing.bill(answer, promptTokens, on: task.day))
        let others = answer.calls.ended.unusedCalls
        return [own]
            + zip(recorded, others.map(Optional.some) + recorded.map { _ in nil }).map { number, call in
                // A recorded request may not have left, because the task was cancelled.
                call.map { billing.bill($0, promptTokens, on: task.day, for: .summary, number: number) }
                    ?? BilledCall(number: number, purpose: .summary, name: nil, bill: nil)
            }
    }
}

/// A model call made no summary.
public struct SummaryFailed: Error, CustomStringConvertible {
    let end: ModelEnd?
    public var description: String { if case .failed(let fault)? = end { "\(fault.kind.rawValue): \(fault.detail)" } else { "no text" } }
}
