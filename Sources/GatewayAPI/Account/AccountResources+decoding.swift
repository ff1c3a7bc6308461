import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension MeResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"),
            displayName: try json.optional("display_name"),
            locale: try json.optional("locale"),
            country: try json.optional("country"),
            timeZone: try json.optional("time_zone"),
            isMinor: try json.optional("is_minor"),
            createdAt: try json.required("created_at"),
            updatedAt: try json.required("updated_at"))
    }
}

extension UsageResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        let month = try json.object("month")
        self.init(
            day: try json.required("day"), messagesToday: try json.required("messages_today"), tier: try json.optional("tier"),
            messagesPerDay: try json.optional("messages_per_day"), messagesRemaining: try json.optional("messages_remaining"),
            resetsAt: try json.optional("resets_at"), turns: try month.required("turns"),
            inputTokens: try month.required("input_tokens"), cachedInputTokens: try month.required("cached_input_tokens"),
            outputTokens: try month.required("output_tokens"), cost: try month.required("cost_usd"),
            unpricedCalls: try month.required("unpriced_calls"))
    }
}

extension ContextProfileResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        func statements(_ name: String) throws(JSONFinding) -> [JSONValue] { try json.value(name)?.elements ?? [] }
        self.init(
            version: try json.required("version"), values: try statements("values"), goals: try statements("goals"),
            situation: try statements("situation"), updatedAt: try json.optional("updated_at"))
    }
}

extension ConsentResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            kind: try json.required("kind"),
            required: try json.required("required"),
            granted: try json.optional("granted"),
            version: try json.optional("version"),
            decidedAt: try json.optional("decided_at"))
    }
}

extension ReportResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"),
            personaID: try json.optional("persona_id"),
            messageID: try json.optional("message_id"),
            reason: try json.required("reason"),
            comment: try json.optional("comment"))
    }
}

extension DomainResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            id: try json.required("id"),
            name: try json.required("name"),
            description: try json.required("description"),
            greeting: try json.required("greeting"),
            starters: try json.required("starters"))
    }
}

extension FoundMessageResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            conversationID: try json.required("conversation_id"),
            source: try json.optional("source") ?? "app",
            message: try json.required("message"))
    }
}

extension SubscriptionResource: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            active: try json.required("active"),
            status: try json.required("status"),
            entitlement: try json.optional("entitlement"),
            isTrial: try json.required("is_trial"),
            expiresAt: try json.optional("expires_at"),
            willRenew: try json.required("will_renew"),
            inGrace: try json.required("in_grace"),
            store: try json.optional("store"),
            managementURL: try json.optional("management_url"))
    }
}
