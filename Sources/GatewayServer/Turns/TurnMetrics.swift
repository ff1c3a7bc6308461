import CoachCore
import CoreMetrics

/// What operators watch of turns. Handles are looked up once a turn, never per token.
enum TurnMetrics {
    static func record(_ receipt: TurnReceipt) {
        let status = ("status", receipt.status.rawValue)
        let domain = ("domain", receipt.domain.domain?.rawValue ?? "none")
        Counter(label: "coach_turns", dimensions: [status, domain]).increment()
        Timer(label: "coach_turn_duration", dimensions: [status]).recordMilliseconds(receipt.durationMilliseconds)
        if let first = receipt.timeToFirstTokenMilliseconds { Timer(label: "coach_time_to_first_token").recordMilliseconds(first) }
        if receipt.risk.tier >= .concern {
            Counter(label: "coach_safety_turns", dimensions: [("tier", "\(receipt.risk.tier.rawValue)")]).increment()
        }
        guard let bill = receipt.bill else { return }
        let model = [("provider", bill.provider), ("model", bill.model)]
        Counter(label: "coach_input_tokens", dimensions: model).increment(by: bill.usage.totalInput ?? 0)
        Counter(label: "coach_output_tokens", dimensions: model).increment(by: bill.usage.totalOutput ?? 0)
        if let cost = bill.cost {
            Counter(label: "coach_cost_nanodollars", dimensions: model).increment(by: cost.raw)
        } else {
            Counter(label: "coach_unpriced_turns", dimensions: model).increment()
        }
    }

    static func request(route: String, status: Int) {
        Counter(label: "coach_requests", dimensions: [("route", route), ("status", "\(status)")]).increment()
    }
}
