import JSON

/// An element of `GET /api/v1/me/consents`: a kind of consent and the user's latest decision.
public struct ConsentResource: Sendable, Equatable {
    /// `ai_processing`, `memory` or `disclaimer`.
    public var kind: String
    /// Whether chat needs it.
    public var required: Bool
    /// nil before the first decision, as the next two.
    public var granted: Bool?
    /// The version of the text that the user saw.
    public var version: String?
    public var decidedAt: Timestamp?

    public init(kind: String, required: Bool, granted: Bool?, version: String?, decidedAt: Timestamp?) {
        self.kind = kind
        self.required = required
        self.granted = granted
        self.version = version
        self.decidedAt = decidedAt
    }
}

extension ConsentResource: WireResource {
    public static let schemaName = "Consent"
    public static let fields: [Schema.Field] = [
        .init("kind", .text), .init("required", .boolean), .init("granted", .boolean.nullable), .init("version", .text.nullable),
        .init("decided_at", .time.nullable),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("kind", kind)
            writer.member("required", required)
            writer.member("granted", granted)
            writer.member("version", version)
            writer.member("decided_at", decidedAt)
        }
    }
}
