/// Builds the prompt of a turn. Its system messages are: system, domain, safety, persona, the same for all users, so that providers' caches keep them;
/// context, client's texts, summary, rules for minors; and after the history, directly before the message, the safety addendum and the opening.
///
/// Untrusted text is either a message with its own role or `DelimitedData`. A persona only fills placeholders of a server template, after
/// the safety text; at tier 2 and above the addendum suspends the persona.
public struct PromptBuilder: Sendable {
    let templates: PromptTemplates
    /// The domain section of each domain, filled once at start.
    private let domainTexts: [Domain: String]

    /// Maximum length of a persona text, of the client's texts together, or of the summary, in Unicode scalars.
    static let maximumTextScalars = 4_000
    /// Maximum length of a profile statement, in Unicode scalars.
    public static let maximumStatementScalars = 500

    public init(templates: PromptTemplates, domains: DomainConfigurations) {
        self.templates = templates
        domainTexts = Dictionary(
            uniqueKeysWithValues: Domain.allCases.compactMap { domain in
                domains[domain].map { (domain, PromptBuilder.text(of: $0, templates)) }
            })
    }

    /// `card` is the card that the user sees in this turn; its phone numbers are the only ones in the prompt, and its opening precedes the
    /// model's text.
    public func prompt(
        message: String, context: TurnContext, domain: Domain?, safety: SafetyDecision, card: SafetyCard?
    ) -> Prompt {
        var stable = [
            templates.filled(.system), domain.flatMap { domainTexts[$0] } ?? templates.filled(.genericDomain), templates.filled(.safety),
        ]
        if let persona = context.persona { stable.append(text(of: persona)) }
        var user: [String] = []
        if let profile = context.profile, !profile.isEmpty { user.append(text(of: profile)) }
        if !context.clientTexts.isEmpty {
            let texts = context.clientTexts.joined(separator: "\n\n")
            user.append(
                templates.filled(
                    .client, ["texts": DelimitedData.block(texts, tag: "client_texts", limit: PromptBuilder.maximumTextScalars)]))
        }
        if let summary = context.summary, !summary.isEmpty {
            user.append(
                templates.filled(
                    .summary,
                    ["summary": DelimitedData.block(summary, tag: "conversation_summary", limit: PromptBuilder.maximumTextScalars)]))
        }
        if context.isMinor { user.append(templates.filled(.minor)) }
        let overriding = [addendum(safety, card: card), card?.opening.map { templates.filled(.opening, ["opening": $0]) }].compactMap(
            \.self)
        var messages = [Prompt.Message(system: stable), Prompt.Message(system: user)].compactMap(\.self)
        messages += context.history.map { Prompt.Message(role: $0.role == .user ? .user : .assistant, content: $0.content) }
        if let last = Prompt.Message(system: overriding) { messages.append(last) }
        messages.append(Prompt.Message(role: .user, content: message))
        return Prompt(messages: messages)
    }

    /// Tokens of a judge's answer.
    private static let judgeTokens = 60

    /// How many of the messages before show a judge what a message means, and how many Unicode scalars at the end of each. Not measured: a question and
    /// its answer twice, in some 400 tokens.
    private static let earlierMessages = 4
    private static let earlierScalars = 400

    /// Asks a judge about one message (`SafetyJudge`). `history`: the messages before it, oldest first; the last four are shown to it.
    public func judgePrompt(message: String, after history: [HistoryMessage] = []) -> Prompt {
        let earlier = history.suffix(PromptBuilder.earlierMessages)
        var data = [DelimitedData.block(message, tag: "user_message", limit: NormalisedMessage.scalarLimit)]
        if !earlier.isEmpty {
            data.insert(DelimitedData.messages(Array(earlier), tag: "earlier_messages", limit: PromptBuilder.earlierScalars), at: 0)
        }
        return Prompt(
            messages: [
                .init(role: .system, content: templates.filled(.judge)), .init(role: .user, content: data.joined(separator: "\n\n")),
            ],
            maximumOutputTokens: PromptBuilder.judgeTokens)
    }

    private static func text(of configuration: DomainConfiguration, _ templates: PromptTemplates) -> String {
        templates.filled(
            .domain,
            [
                "name": configuration.name, "tone": configuration.tone, "methodology": configuration.methodology,
                "guidance": configuration.systemPrompt, "boundaries": configuration.boundaries.map { "- \($0)" }.joined(separator: "\n"),
            ])
    }

    private func text(of persona: Persona) -> String {
        func slot(_ text: String?, _ tag: String) -> String {
            DelimitedData.block(text, tag: tag, limit: PromptBuilder.maximumTextScalars)
        }
        return templates.filled(
            .persona,
            [
                "name": slot(persona.name, "persona_name"), "tone": slot(persona.tone, "persona_tone"),
                "methodology": slot(persona.methodology, "persona_methodology"),
                "personality": slot(persona.personality, "persona_personality"),
            ])
    }

    private func text(of profile: ContextProfile) -> String {
        func slot(_ statements: [String], _ tag: String) -> String {
            DelimitedData.list(statements, tag: tag, limit: PromptBuilder.maximumStatementScalars)
        }
        return templates.filled(
            .context,
            [
                "values": slot(profile.values, "user_values"), "goals": slot(profile.goals, "user_goals"),
                "situation": slot(profile.situation, "user_situation"),
            ])
    }

    /// The end of the last system message, so that nothing later overrides it.
    private func addendum(_ safety: SafetyDecision, card: SafetyCard?) -> String? {
        switch safety.promptTier {
        case .none: return nil
        case .concern: return templates.filled(.concern)
        case .crisis, .high, .imminent:
            // A message without danger of its own is answered with care for what was said before.
            let isOfBefore = safety.risk.categories.isEmpty && safety.risk.tier < .crisis
            let (categories, subject) =
                isOfBefore
                ? (safety.earlierDanger?.categories ?? [], safety.earlierDanger?.subject ?? .unclear)
                : (safety.risk.categories, safety.risk.subject)
            var guidance = categories.map { templates.filled(PromptBuilder.guidance(for: $0)) }
            if subject == .other { guidance.insert(templates.filled(.guidanceOther), at: 0) }
            if guidance.isEmpty { guidance = [templates.filled(isOfBefore ? .guidanceEarlier : .guidanceSuicide)] }
            return templates.filled(
                .crisis,
                [
                    "guidance": guidance.joined(separator: "\n\n"),
                    "resources": card?.resources.map(PromptBuilder.line).joined(separator: "\n") ?? "(shown before; name none by number)",
                ])
        }
    }

    private static func line(_ resource: CrisisResource) -> String {
        "- " + ([resource.name] + [resource.phone, resource.sms, resource.url].compactMap { $0 }).joined(separator: " | ")
    }

    private static func guidance(for category: RiskCategory) -> PromptTemplates.Name {
        switch category {
        case .suicide: .guidanceSuicide
        case .selfHarm: .guidanceSelfHarm
        case .abuse: .guidanceAbuse
        case .violence: .guidanceViolence
        case .eatingDisorder: .guidanceEatingDisorder
        case .psychosis: .guidancePsychosis
        case .substance: .guidanceSubstance
        }
    }
}

extension Prompt.Message {
    /// A system message of these sections; nil without any.
    fileprivate init?(system sections: [String]) {
        guard !sections.isEmpty else { return nil }
        self.init(role: .system, content: sections.joined(separator: "\n\n"))
    }
}
