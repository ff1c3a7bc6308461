import CoachCore
import Logging

/// Prices model calls, at the prices of the day on which their attempt began, on the database's clock.
struct CallBilling: Sendable {
    let prices: LiveValue<PriceBook>
    let ratios: TokenRatios
    /// Told of reports that cannot be true; nil: they are only counted.
    var logger: Logger?

    /// The bill of an answer, estimated when the provider accepted the call and reported no usage at its end, or one that cannot be true; nil when
    /// none accepted it.
    /// `withheldBytes` of the model's text are not in `text`.
    func bill(
        _ answeredBy: ModelName?, _ reportedUsage: TokenUsage, _ promptTokens: Int, _ text: some Sequence<UInt8>, withheldBytes: Int = 0,
        reasoningBytes: Int = 0, on day: CalendarDay
    ) -> TurnBill? {
        answeredBy.map { name in
            let estimate = TokenEstimate.usage(
                promptTokens: promptTokens, answer: text, withheldBytes: withheldBytes, reasoningBytes: reasoningBytes)
            let believed = TokenEstimate.plausible(reportedUsage, for: estimate, longestAnswer: ratios.longestAnswer(of: name))
            if believed != reportedUsage { noteImplausible(reportedUsage, of: name) }
            let bill = prices.current.bill(of: name, on: day, reported: believed, estimate: ratios.adjusted(estimate, of: name))
            if !bill.estimated { ratios.learn(from: bill.usage, of: name, estimate: estimate) }
            return bill
        }
    }

    /// The bill of an answer that was read as a whole.
    func bill(_ answer: WholeAnswer, _ promptTokens: Int, on day: CalendarDay) -> TurnBill? {
        let calls = answer.calls.ended
        return bill(
            calls.answeredBy, calls.usage, promptTokens, answer.text, withheldBytes: answer.withheldBytes,
            reasoningBytes: calls.reasoningBytes, on: day)
    }

    private func noteImplausible(_ usage: TokenUsage, of name: ModelName) {
        TurnMetrics.implausibleUsage(of: name)
        let bounded = usage.storable
        logger?.warning(
            "a provider reported a usage that cannot be true; an estimate is billed",
            metadata: [
                "provider": "\(name.provider)", "model": "\(name.model)",
                "input_tokens": "\(bounded.totalInput.map(String.init) ?? "unknown")",
                "output_tokens": "\(bounded.totalOutput.map(String.init) ?? "unknown")",
            ])
    }

    /// The bills of the unused calls of one prompt. Calls beyond `recorded` get the next numbers, at least `first`.
    /// - Parameter recorded: the numbers under which the first calls were recorded.
    func bills(
        _ calls: [UnusedCall], _ promptTokens: Int, on day: CalendarDay, for purpose: CallPurpose = .answer,
        recordedAs recorded: [Int] = [], numberedFrom first: Int
    ) -> [BilledCall] {
        let next = max(first, (recorded.last ?? 0) + 1)
        return zip(recorded + Array(next..<(next + calls.count)), calls).map { bill($1, promptTokens, on: day, for: purpose, number: $0) }
    }

    func bill(_ call: UnusedCall, _ promptTokens: Int, on day: CalendarDay, for purpose: CallPurpose, number: Int) -> BilledCall {
        BilledCall(
            number: number, purpose: purpose, name: call.name,
            bill: bill(
                call.isAccepted ? call.name : nil, call.usage, promptTokens, [], withheldBytes: call.textBytes,
                reasoningBytes: call.reasoningBytes, on: day))
    }

    /// The calls of a judge.
    func bills(_ judge: JudgeCall.Result, on day: CalendarDay) -> [BilledCall] {
        let calls = judge.answer.calls.ended
        let own = BilledCall(
            number: judge.numbers.first ?? BilledCall.judgeNumber, purpose: .judge, name: calls.answeredBy,
            bill: bill(judge.answer, judge.promptTokens, on: day))
        return [own]
            + bills(
                calls.unusedCalls, judge.promptTokens, on: day, for: .judge, recordedAs: Array(judge.numbers.dropFirst()),
                numberedFrom: own.number + 1)
    }
}

extension TurnFacts {
    /// The number of the first call beside that of the answer and the earlier ones.
    var nextCallNumber: Int { max(BilledCall.judgeNumber, earlierCalls.last?.number ?? 0) + 1 }
}
