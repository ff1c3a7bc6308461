import CoachCore
import JSON
import PostgresClient

extension SummaryRepository {
    /// Summaries in PostgreSQL. None begins for a user who has not given `consents`.
    /// `tiers`: called for every summary, so that a change of the tiers takes effect at once.
    public static func postgres(
        client: PostgresClient, consents: RequiredConsents, tiers: @escaping @Sendable () -> TierBook
    ) -> SummaryRepository {
        let beforeTurn = consents.beforeTurn.map(\.rawValue).sorted()
        let requiresConsent = consents.kinds.contains(.memory)
        return SummaryRepository(
            begin: { userID, request in
                let limits = StoredJSON.encode(SummaryLimits(tiers: tiers()))
                let call: Query = """
                    gateway.begin_summary_2(\(userID), \(request.conversationID), \(request.turnID), \(request.attempt)::integer, \
                    \(request.tokens)::integer, \(beforeTurn), \(requiresConsent), \(limits)::jsonb)
                    """
                let text: String? = try await client.call(call, boundTo: userID)
                return try text.map { try StoredJSON.decode(SummaryTask.self, from: $0) }
            },
            estimate: { userID, request, task, bill in
                let call: Query = """
                    gateway.estimate_summary(\(userID), \(request.turnID), \(request.attempt)::integer, \(task.day.description)::date, \
                    \(task.call)::integer, \(StoredJSON.encode(bill))::jsonb)
                    """
                return try await client.call(call, boundTo: userID)
            },
            finish: { userID, receipt in
                let argument = StoredJSON.encode(receipt)
                return try await client.call("gateway.finish_summary(\(userID), \(argument)::jsonb, \(requiresConsent))", boundTo: userID)
            })
    }
}

extension SummaryTask: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            day: try json.required("day"), call: try json.required("call"), from: try json.required("from"),
            through: try json.required("through"), summary: try json.optional("summary"), messages: try json.required("messages"),
            tier: try json.required("tier"), domain: try json.optional("domain", .choice), personaID: try json.optional("persona_id"))
    }
}

extension SummaryReceipt: StoredWritable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("conversation_id", request.conversationID)
            json.field("turn_id", request.turnID)
            json.field("attempt", request.attempt)
            json.field("day", task.day.description)
            json.field("call", task.call)
            json.field("from", task.from)
            json.field("through", task.through)
            json.field("summary", summary)
            json.field("calls", calls)
        }
    }
}

extension JobKind {
    /// Summarises the older messages of a conversation.
    public static let summariseConversation = JobKind(rawValue: "summarise_conversation")
}

extension SummaryRequest: JSONReadable {
    /// The payload of a job; nil for another one.
    public init?(of job: Job) {
        guard let request = try? SummaryRequest(JSONReader(job.payload)) else { return nil }
        self = request
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            conversationID: try json.required("conversation_id"), turnID: try json.required("turn_id"),
            attempt: try json.required("attempt"), tokens: try json.required("tokens"))
    }
}
