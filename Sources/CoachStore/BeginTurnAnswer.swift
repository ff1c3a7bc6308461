import CoachCore
import JSON

/// The answer of `gateway.begin_turn`.
struct BeginTurnAnswer: StoredReadable {
    private let outcome: Outcome
    private let rate: RateLimit

    private enum Outcome {
        /// The message that is tried again comes with its turn.
        case begun(TurnContext, message: String?)
        case known(KnownTurn)
        case refused(Rejection)
    }

    init(_ stored: StoredValue) throws(StoredMismatch) {
        rate = try stored.member("rate")
        switch try stored.member("outcome", as: String.self) {
        case "begun": outcome = .begun(try TurnContext(stored), message: try stored.optional("message"))
        case "known": outcome = .known(try stored.member("known"))
        case "refused": outcome = .refused(try Rejection(stored))
        default: throw StoredMismatch(path: "outcome")
        }
    }

    var opening: BeginTurnResult {
        switch outcome {
        case .begun(let context, _): .begun(context, rate)
        case .known(let turn): .known(turn, rate)
        case .refused(let rejection): .refused(rejection, rate)
        }
    }

    /// The answer to `retry_of`.
    var retryOpening: RetryTurnResult {
        get throws {
            switch outcome {
            case .begun(let context, let message?): return .begun(context, message: message, rate)
            case .begun: throw StoreFault.unexpected("a turn was tried again without its message")
            case .known: throw StoreFault.unexpected("a turn that is tried again is a new one")
            case .refused(let rejection): return .refused(rejection, rate)
            }
        }
    }
}

extension RateLimit: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) {
        self.init(limit: try stored.member("limit"), remaining: try stored.member("remaining"), resetAt: try stored.member("reset_at"))
    }
}

extension TurnContext: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) {
        let profile = try stored.optional("profile", as: ContextProfile.self)
        self.init(
            identity: try stored.member("turn"),
            day: try stored.member("day"),
            callsModel: try stored.member("calls_model"),
            profile: profile?.isEmpty == true ? nil : profile,
            summary: try stored.optional("summary"),
            history: try stored.member("history"),
            persona: try stored.optional("persona"),
            safetyLevel: try stored.choice("safety_level"),
            conversationDomain: try stored.optionalChoice("conversation_domain"),
            pinnedDomain: try stored.optionalChoice("pinned_domain"),
            country: try stored.optional("country"),
            locale: try stored.optional("locale"))
    }
}

extension ContextProfile: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) {
        /// What is no statement, no model can be told.
        func statements(_ name: String) throws(StoredMismatch) -> [String] {
            try stored.member(name, as: [Statement].self).compactMap(\.text)
        }
        self.init(values: try statements("values"), goals: try statements("goals"), situation: try statements("situation"))
    }

    /// A string, or an object that has it as `text`; anything else, and nothing, is none.
    private struct Statement: StoredReadable {
        let text: String?

        init(_ stored: StoredValue) {
            let text = stored.json.string ?? stored.json["text"]?.string
            self.text = text?.isEmpty == true ? nil : text
        }
    }
}

extension HistoryMessage: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) {
        self.init(role: try stored.choice("role"), content: try stored.member("content"))
    }
}

extension Persona: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) {
        self.init(
            id: try stored.member("id"), name: try stored.member("name"), domain: try stored.optionalChoice("domain"),
            tone: try stored.optional("tone"), methodology: try stored.optional("methodology"),
            personality: try stored.optional("personality"))
    }
}

extension Rejection: StoredReadable {
    init(_ stored: StoredValue) throws(StoredMismatch) {
        self.init(
            reason: try stored.choice("reason"), retryAfter: try stored.optional("retry_after"), limit: try stored.optional("limit"),
            safetyLevel: try stored.choice("safety_level"), country: try stored.optional("country"),
            locale: try stored.optional("locale"))
    }
}
