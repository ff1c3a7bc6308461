extension ChatRequest {
    private static let domainSchema = Schema.text(maximumLength: 64).exemplified("mindset")
    private static let localeSchema = Schema.text.described("BCP 47").exemplified("en-GB")
    private static let countrySchema = Schema.text.described("ISO 3166-1 alpha-2").exemplified("GB")
    private static let messageSchema = Schema.text(maximumLength: messageLimit).exemplified("I keep putting things off.")

    public static let schema = Schema.object([
        .init("message", messageSchema), .optional("conversation_id", .id), .optional("persona_id", .id),
        .optional("share_token", .text(maximumLength: 256)), .optional("domain", domainSchema),
        .optional("client_message_id", .text(maximumLength: 128)), .optional("locale", localeSchema),
        .optional("country", countrySchema),
    ]).named("ChatRequest")

    /// Of a preview, which is a conversation of its own with the persona of the path.
    public static let previewSchema = Schema.object([
        .init("message", messageSchema), .optional("domain", domainSchema),
        .optional("client_message_id", .text(maximumLength: 128)), .optional("locale", localeSchema),
        .optional("country", countrySchema),
    ]).named("PreviewRequest")
}

extension Schema.Field {
    /// A member of a request that may be absent or `null`.
    public static func optional(_ name: String, _ schema: Schema) -> Self { Self(name, schema.nullable, required: false) }
}
