import JSON

/// When operators are alerted: a measure is above a threshold.
public struct AlertRule: Sendable, Equatable {
    /// Raw values are those of `gateway.alert_value`.
    public enum Measure: String, Sendable, CaseIterable {
        /// US dollars spent in the window.
        case cost = "cost_usd"
        /// Cost of the window, in whole quarters of an hour (rounded up), divided by that of the window before.
        case costGrowth = "cost_growth"
        case unpricedTurns = "unpriced_turns"
        /// Attempts that ended with an error, of all in the window.
        case errorShare = "error_share"
        case firstTokenP95 = "first_token_p95_ms"
        /// The largest used share of a day's budget of the installation, a tier or a persona. The threshold of a rule is a soft limit.
        case budgetShare = "budget_share"
        /// The largest share that a user has used today of their own budgets of the day and of the month.
        case userBudgetShare = "user_budget_share"
        case deadJobs = "dead_jobs"
        /// For how long the oldest job of any kind has been due.
        case jobLag = "job_lag_seconds"
        /// Providers' models that are tried after the others, on any instance.
        case openCircuits = "open_circuits"
        /// The age of the oldest event of webhooks, received from stores or to be sent to others, whose work is due and not done. Retries do not reset it.
        case webhookLag = "webhook_lag_seconds"
        /// Receipts on disk that wait for the database, of all instances.
        case spooledReceipts = "spooled_receipts"
        /// The number of instances that detect danger without one of their trained models.
        case missingClassifiers = "missing_classifiers"
    }

    public enum Severity: String, Sendable, CaseIterable {
        case info, warning, critical
    }

    /// Lower-case letters, digits and hyphens.
    public var id: String
    public var measure: Measure
    public var above: Double
    /// For measures of a window.
    public var windowMinutes: Int
    /// Attempts or turns that shares and percentiles need.
    public var minimum: Int
    public var severity: Severity

    public init(id: String, measure: Measure, above: Double, windowMinutes: Int, minimum: Int, severity: Severity) {
        self.id = id
        self.measure = measure
        self.above = above
        self.windowMinutes = windowMinutes
        self.minimum = minimum
        self.severity = severity
    }
}

/// The document `alert-rules`.
public struct AlertRules: Sendable, Equatable {
    public var rules: [AlertRule]

    public init(rules: [AlertRule]) { self.rules = rules }
}

extension AlertRules: JSONReadable {
    public init(_ root: JSONReader) throws(JSONFinding) {
        var rules: [AlertRule] = []
        for json in try root.elements("rules", 0...100) {
            let rule = try AlertRule(json)
            if json.isSound, rules.contains(where: { $0.id == rule.id }) { try json.report("id", .repeated) }
            rules.append(rule)
        }
        self.init(rules: rules)
        try root.rejectUnknown(besides: ["note"])
    }

    /// Parses and validates `deploy/alert-rules.json`. `rules` is nil exactly when `findings` is not empty.
    public static func read(_ file: some Sequence<UInt8>) -> (rules: AlertRules?, findings: [String]) {
        let (rules, findings) = JSONReader.collect(Array(file)) { (root) throws(JSONFinding) in try AlertRules(root) }
        return (rules, findings.map { "alert-rules: \($0)" })
    }
}

extension AlertRule {
    fileprivate init(_ json: JSONReader) throws(JSONFinding) {
        let measure: Measure = try json.required("measure", .choice)
        let threshold: JSONField<Double> = measure == .cost ? .dollars : .threshold
        self.init(
            id: try json.required("id", .text(1...63)), measure: measure,
            above: try json.required("above", threshold),
            windowMinutes: try json.optional("window_minutes", .integer(15...10_080)) ?? 60,
            minimum: try json.optional("minimum", .integer(1...1_000_000)) ?? 20,
            severity: try json.optional("severity", .choice) ?? .warning)
        if json.isSound, !id.allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "-") }) {
            try json.report("id", .invalid("must have lower-case letters, digits and hyphens only"))
        }
        try json.rejectUnknown()
    }
}

extension JSONField<Double> {
    fileprivate static var threshold: Self { .number(0...1e12) }

    /// A decimal in quotes; also a number, as in rules that operators saved before.
    fileprivate static var dollars: Self {
        Self { (json) throws(JSONFinding) in
            guard let text = json.value.string else { return try Self.threshold.read(json) }
            guard let amount = Nanodollars(dollars: text) else {
                return try json.reject(.invalid("must be a decimal in quotes, in US dollars"), 0)
            }
            return Double(amount.raw) / 1e9
        }
    }
}
