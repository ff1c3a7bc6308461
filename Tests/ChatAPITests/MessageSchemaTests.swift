import CoachCore
import GatewayAPI
import Testing

/// `GatewayAPI` imports no vocabulary, so that apps can use it: its schemas repeat these values.
@Suite("Schema of messages")
struct MessageSchemaTests {
    @Test("has the roles and states of the vocabulary")
    func values() {
        func schema(_ name: String) -> Schema? { MessageResource.fields.first { $0.name == name }?.schema }
        #expect(schema("role") == Schema.values(MessageRole.allCases.map(\.rawValue)))
        #expect(schema("status") == Schema.values(MessageRecord.Status.allCases.map(\.rawValue)))
    }
}
