import CoachCore
import JSON

extension TierBook {
    /// Writes the members of the argument `limits` of `gateway.begin_turn` by which it determines a user's tier and limits.
    func writeFields(to json: inout JSONWriter) {
        json.field("tiers", tiers)
        json.key(literal: "paid")
        write(paidTiers, to: &json)
        json.key(literal: "trials")
        write(trialTiers, to: &json)
        json.field("grace_seconds", graceSeconds)
    }

    private func write(_ positions: [String: Int], to json: inout JSONWriter) {
        json.object { json in
            for (entitlement, position) in positions {
                json.key(entitlement)
                json.integer(position)
            }
        }
    }
}

/// The argument of `gateway.take_request`.
struct RequestLimits: StoredWritable {
    let tiers: TierBook
    var isOfTurn = false

    func write(to json: inout JSONWriter) {
        json.object { json in
            tiers.writeFields(to: &json)
            json.field("is_turn", isOfTurn)
        }
    }
}

/// The argument `limits` of `gateway.begin_summary_2`.
struct SummaryLimits: StoredWritable {
    let tiers: TierBook

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("reserve_nanodollars", tiers.reservePerTurn)
            json.field("reserve_tokens", tiers.reservedTokensPerTurn)
            json.key(literal: "budgets")
            json.object { json in
                for tier in tiers.tiers where tier.budgets != Tier.Budgets() {
                    json.key(tier.name)
                    tier.budgets.write(to: &json)
                }
            }
        }
    }
}

extension Tier: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("name", name)
            json.field("requests_per_minute", requestsPerMinute)
            json.field("messages_per_day", messagesPerDay)
            json.field("concurrent_turns", concurrentTurns)
            json.field("domains", domains.map { $0.map(\.rawValue) })
            json.field("budgets", budgets == Budgets() ? nil : budgets)
            json.field("history", history)
        }
    }
}

extension Tier.Budgets: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("tokens_per_day", tokensPerDay)
            json.field("tokens_per_month", tokensPerMonth)
            json.field("nanodollars_per_day", costPerDay)
            json.field("nanodollars_per_month", costPerMonth)
        }
    }
}

extension Tier.History: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("tokens", tokens)
            json.field("messages", messages)
        }
    }
}
