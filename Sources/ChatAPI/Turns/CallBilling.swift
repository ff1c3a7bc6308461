import CoachCore

/// Prices model calls, at the prices of the day on which their attempt began, on the database's clock.
struct CallBilling: Sendable {
    let prices: LiveValue<PriceBook>
    let ratios: TokenRatios

    /// The bill of an answer, estimated when the provider accepted the call and reported no usage at its end; nil when none accepted it.
    /// `withheldBytes` of the model's text are not in `text`.
    func bill(
        _ answeredBy: ModelName?, _ reportedUsage: TokenUsage, _ promptTokens: Int, _ text: some Sequence<UInt8>, withheldBytes: Int = 0,
        reasoningBytes: Int = 0, on day: CalendarDay
    ) -> TurnBill? {
        answeredBy.map { name in
            let estimate = TokenEstimate.usage(
                promptTokens: promptTokens, answer: text, withheldBytes: withheldBytes, reasoningBytes: reasoningBytes)
            let bill = prices.current.bill(of: name, on: day, reported: reportedUsage, estimate: ratios.adjusted(estimate, of: name))
            if !bill.estimated { ratios.learn(from: bill.usage, of: name, estimate: estimate) }
            return bill
        }
    }

    /// The other calls of one prompt, with the numbers under which they were recorded, then, from `first` on, those after these.
    func bills(
        _ calls: [OtherCall], _ promptTokens: Int, on day: CalendarDay, for purpose: CallPurpose = .answer, recordedAs recorded: [Int] = [],
        numberedFrom first: Int
    ) -> [BilledCall] {
        let next = max(first, (recorded.last ?? 0) + 1)
        return zip(recorded + Array(next..<(next + calls.count)), calls).map { bill($1, promptTokens, on: day, for: purpose, number: $0) }
    }

    func bill(_ call: OtherCall, _ promptTokens: Int, on day: CalendarDay, for purpose: CallPurpose, number: Int) -> BilledCall {
        BilledCall(
            number: number, purpose: purpose, name: call.name,
            bill: bill(
                call.isAccepted ? call.name : nil, call.usage, promptTokens, [], withheldBytes: call.textBytes,
                reasoningBytes: call.reasoningBytes, on: day))
    }

    /// The calls of a judge.
    func bills(_ judge: JudgeCall.Result, on day: CalendarDay) -> [BilledCall] {
        let calls = judge.calls.ended
        let own = BilledCall(
            number: judge.numbers.first ?? BilledCall.judgeNumber, purpose: .judge, name: calls.answeredBy,
            bill: bill(
                calls.answeredBy, calls.usage, judge.promptTokens, judge.text, reasoningBytes: calls.reasoningBytes, on: day))
        return [own]
            + bills(
                calls.otherCalls, judge.promptTokens, on: day, for: .judge, recordedAs: Array(judge.numbers.dropFirst()),
                numberedFrom: own.number + 1)
    }
}

extension TurnFacts {
    /// The number of the first call beside that of the answer and the earlier ones.
    var nextCallNumber: Int { max(BilledCall.judgeNumber, earlierCalls.last?.number ?? 0) + 1 }
}
