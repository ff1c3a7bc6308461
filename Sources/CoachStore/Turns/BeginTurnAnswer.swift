import CoachCore
import JSON
import PostgresClient

extension PostgresClient {
    /// Calls `gateway.repeated_turn`: nil when the request begins a turn or its next attempt. Throws `StoreFault`, or `CancellationError`.
    func repeatedTurn(_ caller: Caller, _ request: BeginTurnRequest) async throws -> BeginTurnResult? {
        let argument = StoredJSON.encode(request)
        let query = Claims.gateway(for: caller, calling: "gateway.repeated_turn(\(caller.userID), \(argument)::jsonb)")
        return try await StoreFault.translating {
            let text = try await value(of: query, for: caller.userID, as: String?.self)
            return try text.map { try StoredJSON.decode(BeginTurnAnswer.self, from: $0).result(of: request) }
        }
    }

    /// Calls `gateway.begin_turn`. Throws `StoreFault`, or `CancellationError`.
    func beginTurn(_ caller: Caller, _ request: BeginTurnRequest) async throws -> BeginTurnResult {
        let argument = StoredJSON.encode(request)
        let query = Claims.gateway(for: caller, calling: "gateway.begin_turn(\(caller.userID), \(argument)::jsonb)")
        return try await StoreFault.translating {
            do {
                let text = try await repeatingContended { try await value(of: query, for: caller.userID, as: String.self) }
                return try StoredJSON.decode(BeginTurnAnswer.self, from: text).result(of: request)
            } catch let error as PostgresError where error.isOfRemovedUser {
                return BeginTurnResult.rejected(Rejection(reason: .suspended), .ofRemovedUser(request.tiers))
            }
        }
    }
}

/// The decoded result of `gateway.begin_turn`.
struct BeginTurnAnswer: JSONReadable {
    private let outcome: Outcome
    private let rate: RateLimit

    private enum Kind: String, CaseIterable {
        case begun
        case known
        case rejected = "refused"
    }

    private enum Outcome {
        /// `message`: the user message of a retried turn; nil for a new message.
        case begun(TurnContext, message: String?)
        case known(KnownTurn)
        case rejected(Rejection)
    }

    init(_ json: JSONReader) throws(JSONFinding) {
        rate = try json.required("rate")
        switch try json.required("outcome", .choice) as Kind {
        case .begun: outcome = .begun(try TurnContext(json), message: try json.optional("message"))
        case .known: outcome = .known(try json.required("known"))
        case .rejected: outcome = .rejected(try Rejection(json))
        }
    }

    func result(of request: BeginTurnRequest) throws -> BeginTurnResult {
        switch outcome {
        case .begun(let context, let stored):
            guard let message = request.message ?? stored else {
                throw StoreFault.unexpected("begin_turn retried a turn without its message")
            }
            return .begun(context, message: message, rate)
        case .known(let turn): return .known(turn, rate)
        case .rejected(let rejection): return .rejected(rejection, rate)
        }
    }
}

extension RateLimit: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(limit: try json.required("limit"), remaining: try json.required("remaining"), resetAt: try json.required("reset_at"))
    }
}

extension TurnContext: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        let profile = try json.optional("profile", as: ContextProfile.self)
        self.init(
            identity: try json.required("turn"),
            day: try json.required("day"),
            tier: try json.required("tier"),
            callsModel: try json.required("calls_model"),
            profile: profile?.isEmpty == true ? nil : profile,
            summary: try json.optional("summary"),
            unsummarised: try json.optional("unsummarised"),
            history: try json.required("history"),
            persona: try json.optional("persona"),
            safetyLevel: try json.required("safety_level", .choice),
            highestLevel: try json.required("highest_level", .choice),
            earlierDanger: try json.optional("earlier_danger"),
            earlierRisk: try json.optional("earlier_risk"),
            savedRisk: try json.optional("saved_risk"),
            hasLostAttempt: try json.required("has_lost_attempt"),
            conversationDomain: try json.optional("conversation_domain", .choice),
            pinnedDomain: try json.optional("pinned_domain", .choice),
            region: try Region(json),
            // A turn takes two places: its message and the answer.
            turnNumber: (try json.required("seq", as: Int.self) + 1) / 2,
            isMinor: try json.required("is_minor"),
            disclosure: try json.optional("disclosure", .choice))
    }
}

extension EarlierDanger: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(categories: try json.required("categories"), subject: try json.required("subject", .choice))
    }
}

extension ContextProfile: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        /// Leaves out elements without text.
        func statements(_ name: String) throws(JSONFinding) -> [String] {
            try json.required(name, as: [ProfileStatement].self).compactMap(\.text)
        }
        self.init(values: try statements("values"), goals: try statements("goals"), situation: try statements("situation"))
    }

    /// One statement of the user's context profile: a string, or an object with the string as `text`; nil for anything else and for empty text.
    private struct ProfileStatement: JSONReadable {
        let text: String?

        init(_ json: JSONReader) {
            let text = json.value.string ?? json.value["text"]?.string
            self.text = text?.isEmpty == true ? nil : text
        }
    }
}

extension HistoryMessage: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(role: try json.required("role", .choice), content: try json.required("content"))
    }
}

extension Persona: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"), name: try json.required("name"), domain: try json.optional("domain", .choice),
            tone: try json.optional("tone"), methodology: try json.optional("methodology"),
            personality: try json.optional("personality"))
    }
}

extension Rejection: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            reason: try json.required("reason", .choice), retryAfter: try json.optional("retry_after"), limit: try json.optional("limit"),
            resetAt: try json.optional("reset_at"), tier: try json.optional("tier"), domain: try json.optional("domain", .choice),
            sharedBudget: try json.optional("shared_budget", .choice),
            missingConsents: try json.optional("consents", .list(0...ConsentKind.allCases.count, .choice)) ?? [],
            safetyLevel: try json.required("safety_level", .choice), region: try Region(json))
    }
}
