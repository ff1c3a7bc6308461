extension ChatRequest {
    public static let schema = Schema.object([
        .init("message", .text(maximumLength: messageLimit)), .optional("conversation_id", .id), .optional("persona_id", .id),
        .optional("share_token", .text(maximumLength: 256)), .optional("domain", .text(maximumLength: 64)),
        .optional("client_message_id", .text(maximumLength: 128)), .optional("locale", .text.described("BCP 47")),
        .optional("country", .text.described("ISO 3166-1 alpha-2")),
    ]).named("ChatRequest")
}

extension Schema.Field {
    /// A member of a request that may be absent or `null`.
    public static func optional(_ name: String, _ schema: Schema) -> Self { Self(name, schema.nullable, required: false) }
}
