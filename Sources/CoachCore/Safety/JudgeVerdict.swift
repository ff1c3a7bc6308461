import JSON

extension RiskAssessment {
    /// Reads a judge's answer: the first JSON object in it, `{"tier", "category", "subject"}`. nil when there is none or it is not valid.
    public init?(verdict answer: some Collection<UInt8>) {
        guard let start = answer.firstIndex(of: UInt8(ascii: "{")), let end = answer[start...].firstIndex(of: UInt8(ascii: "}")),
            let document = try? JSONDocument(parsing: Array(answer[start...end])),
            let verdict = JSONReader.collect(document.value, RiskAssessment.verdict).0
        else { return nil }
        self = verdict
    }

    private static func verdict(_ json: JSONReader) throws(JSONFinding) -> RiskAssessment {
        let tier: RiskTier = try json.required("tier", .choice)
        let category: RiskCategory? = try json.optional("category")
        return RiskAssessment(
            tier: tier, categories: tier >= .crisis ? [category ?? .suicide] : [],
            subject: try json.optional("subject", .choice) ?? .unclear,
            patterns: [SafetyJudge.patternPrefix + (category?.rawValue ?? "tier")])
    }

    /// The assessment together with the judge's verdict, if the verdict has a higher tier. A judge lowers nothing.
    public func raised(by verdict: RiskAssessment) -> RiskAssessment { verdict.tier > tier ? merged(with: verdict) : self }
}
