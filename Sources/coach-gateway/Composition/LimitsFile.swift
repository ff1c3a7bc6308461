import CoachCore
import CoachStore
import GatewayAPI
import JSON

/// Reads `deploy/limits.json`.
enum LimitsFile {
    static func read(_ bytes: [UInt8]) -> (limits: TurnLimits?, findings: [String]) {
        let (limits, findings) = JSONReader.collect(bytes, TurnLimits.init)
        return (limits, findings.map { "limits: \($0)" })
    }
}

extension TurnLimits {
    fileprivate init(_ root: JSONReader) throws(JSONFinding) {
        let tierObject = try root.object("tiers")
        var tiers: [String: Tier] = [:]
        for name in tierObject.names { tiers[name] = try tierObject.required(name, .object(Tier.init)) }
        let history = try root.member("history")
        self.init(
            requestsPerMinute: try root.required("requests_per_minute", .limit),
            defaultTier: try root.required("default_tier"),
            tiers: tiers,
            crisis: try root.optional("crisis", .object(CrisisAllowance.init)) ?? CrisisAllowance(),
            historyTokens: try history?.optional("tokens", .limit) ?? 0,
            historyMessages: try history?.optional("messages", .limit) ?? 0,
            reservePerTurn: try root.optional("usd_reserved_per_turn", .dollars))
        if tiers[defaultTier] == nil { try root.report("default_tier", .invalid("must be one of the tiers")) }
        try history?.rejectUnknown()
        try root.rejectUnknown(besides: ["note"])
    }
}

extension TurnLimits.Tier {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            messagesPerDay: try json.optional("messages_per_day", .limit),
            concurrentTurns: try json.optional("concurrent_turns", .limit),
            costPerDay: try json.optional("usd_per_day", .dollars))
        try json.rejectUnknown()
    }
}

extension TurnLimits.CrisisAllowance {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        self.init()
        modelCallsPerDay = try json.optional("model_calls_per_day", .limit) ?? modelCallsPerDay
        concurrentTurns = try json.optional("concurrent_turns", .limit) ?? concurrentTurns
        try json.rejectUnknown()
    }
}

extension JSONField<Int> {
    fileprivate static var limit: Self { .integer(1...1_000_000_000) }
}

extension JSONField<Nanodollars> {
    fileprivate static var dollars: Self {
        .parsed("a decimal in quotes, in US dollars", placeholder: Nanodollars(0)) { text in
            MoneyText.nanodollars(text).flatMap { $0 >= 0 ? Nanodollars($0) : nil }
        }
    }
}
