import JSON

extension TierBook {
    /// Parses and validates `deploy/tiers.json`. `book` is nil exactly when `findings` is not empty.
    public static func read(_ file: some Sequence<UInt8>) -> (book: TierBook?, findings: [String]) {
        let (book, findings) = JSONReader.collect(Array(file)) { (root) throws(JSONFinding) in try TierBook(root) }
        return (book, findings.map { "tiers: \($0)" })
    }
}

extension TierBook: JSONReadable {
    public init(_ root: JSONReader) throws(JSONFinding) {
        var tiers: [Tier] = []
        var entitlements: Set<[String]> = []
        for json in try root.elements("tiers", 1...100) {
            let tier = try Tier(json)
            if json.isSound {
                if tiers.contains(where: { $0.name == tier.name }) { try json.report("name", .repeated) }
                if tiers.isEmpty, !tier.entitlements.isEmpty {
                    try json.report("entitlements", .invalid("must be absent: the first tier needs no entitlement"))
                }
                for name in tier.entitlements where !entitlements.insert([name, "\(tier.isTrial)"]).inserted {
                    try json.report("entitlements", .invalid("names \(name), which gives another tier already"))
                }
            }
            tiers.append(tier)
        }
        self.init(
            // Made of placeholders, the book is discarded.
            tiers.isEmpty ? [Tier("")] : tiers,
            crisis: try root.optional("crisis", .object(CrisisAllowance.init)) ?? CrisisAllowance(),
            reservePerTurn: try root.optional("usd_reserved_per_turn", .dollars),
            reservedTokensPerTurn: try root.optional("tokens_reserved_per_turn", .limit),
            installationCostPerDay: try root.optional("installation_usd_per_day", .dollars),
            personaCostPerDay: try root.optional("persona_usd_per_day", .dollars),
            graceSeconds: try root.required("grace_minutes", .integer(0...43_200)) * 60,
            unauthenticatedRequestsPerMinute: try root.optional("unauthenticated_requests_per_minute", .limit))
        // Without a reservation turns that run at the same time would spend the same rest of a budget.
        if !budgetsOfMoney.isEmpty, reservePerTurn ?? Nanodollars(0) <= Nanodollars(0) {
            try root.report("usd_reserved_per_turn", .invalid("must be the most that a turn can cost, because there is a budget of money"))
        }
        if !budgetsOfTokens.isEmpty, reservedTokensPerTurn == nil {
            try root.report(
                "tokens_reserved_per_turn", .invalid("must be the most that a turn can take, because there is a budget of tokens"))
        }
        if let reservePerTurn, budgetsOfMoney.contains(where: { $0 > Nanodollars(0) && $0 < reservePerTurn }) {
            try root.report("usd_reserved_per_turn", .invalid("must not be more than a budget of money, which would refuse every turn"))
        }
        if let reservedTokensPerTurn, budgetsOfTokens.contains(where: { $0 < reservedTokensPerTurn }) {
            try root.report(
                "tokens_reserved_per_turn", .invalid("must not be more than a budget of tokens, which would refuse every turn"))
        }
        try root.rejectUnknown(besides: ["note"])
    }

    /// One of zero is meant to refuse every turn.
    private var budgetsOfMoney: [Nanodollars] {
        let ofTiers = tiers.flatMap { [$0.sharedCostPerDay, $0.budgets.costPerDay, $0.budgets.costPerMonth] }
        return (ofTiers + [installationCostPerDay, personaCostPerDay]).compactMap(\.self)
    }

    private var budgetsOfTokens: [Int] { tiers.flatMap { [$0.budgets.tokensPerDay, $0.budgets.tokensPerMonth] }.compactMap(\.self) }
}

extension Tier {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            try json.required("name", .text(1...50)),
            entitlements: try json.optional("entitlements", .list(1...100, .text(1...255))) ?? [],
            isTrial: try json.optional("trial") ?? false,
            requestsPerMinute: try json.required("requests_per_minute", .limit),
            messagesPerDay: try json.optional("messages_per_day", .limit),
            concurrentTurns: try json.optional("concurrent_turns", .limit),
            budgets: Budgets(
                tokensPerDay: try json.optional("tokens_per_day", .limit),
                tokensPerMonth: try json.optional("tokens_per_month", .limit),
                costPerDay: try json.optional("usd_per_day", .dollars),
                costPerMonth: try json.optional("usd_per_month", .dollars)),
            sharedCostPerDay: try json.optional("shared_usd_per_day", .dollars),
            domains: try json.optional("domains", .list(1...100, .choice)).map { Set($0) },
            models: try json.optional("models", .list(1...100, .text(1...200))),
            history: try json.optional("history", .object(History.init)) ?? History(),
            publishedPersonas: try json.optional("published_personas", .integer(0...1_000_000)))
        try json.rejectUnknown(besides: ["note"])
    }
}

extension Tier.History {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        self.init()
        tokens = try json.optional("tokens", .integer(0...1_000_000)) ?? tokens
        messages = try json.optional("messages", .integer(0...10_000)) ?? messages
        try json.rejectUnknown()
    }
}

extension TierBook.CrisisAllowance {
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
        .parsed("a decimal in quotes, in US dollars", placeholder: Nanodollars(0)) { Nanodollars(dollars: $0) }
    }
}
