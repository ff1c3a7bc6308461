import JSON

/// A change of a conversation: `ConversationChange(title: .set("Work"), domain: .clear)`.
public struct ConversationChange: Sendable, Equatable {
    /// 1–200 characters.
    public var title: FieldChange<String>
    /// The name of a coaching domain, which then decides for every message; cleared, each message is routed.
    public var domain: FieldChange<String>

    public init(title: FieldChange<String> = .keep, domain: FieldChange<String> = .keep) {
        self.title = title
        self.domain = domain
    }

    /// A merge patch (RFC 7396).
    var json: JSONValue {
        .object([title.member("title", JSONValue.string), domain.member("domain", JSONValue.string)].compactMap { $0 })
    }
}
