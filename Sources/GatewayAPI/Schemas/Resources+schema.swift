extension MessageResource: WireResource {
    public static let schemaName = "Message"
    // Values of `MessageRole` and `MessageRecord.Status`, as of `ConversationSource.listed` below; `WireValueTests` compares them.
    public static let fields: [Schema.Field] = [
        .init("id", .id), .init("conversation_id", .id), .init("role", .values(["user", "assistant"])), .init("content", .text),
        .init("status", .values(["complete", "stopped", "interrupted", "failed", "superseded"])), .init("domain", .text.nullable),
        .init("created_at", .time), .init("updated_at", .time), .init("turn_id", .id.nullable),
    ]
}

extension ConversationResource: WireResource {
    public static let schemaName = "Conversation"
    public static let fields: [Schema.Field] = [
        .init("id", .id), .init("title", .text.nullable), .init("domain", .text.nullable), .init("persona_id", .id.nullable),
        .init("last_message_at", .time.nullable), .init("created_at", .time), .init("updated_at", .time),
        .init("deleted_at", .time.nullable), .init("ephemeral", .boolean), .init("source", .values(["app", "openai"])),
    ]
}
