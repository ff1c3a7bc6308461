import Foundation
import GatewayAPI
import JSON
import Testing

struct MoneyTextTests {
    @Test(
        "money has six to nine decimals",
        arguments: [
            (0, "0.000000"), (123_000, "0.000123"), (123_400, "0.0001234"), (123_456, "0.000123456"), (1, "0.000000001"),
            (12_000_000_000, "12.000000"), (-500_000_000, "-0.500000"), (Int64.max, "9223372036.854775807"),
            (.min, "-9223372036.854775808"),
        ] as [(Int64, String)])
    func format(_ nanodollars: Int64, _ text: String) {
        #expect(MoneyText.format(nanodollars: nanodollars) == text)
    }
}

struct ResourceTests {
    @Test("a message has the fields of the contract and decodes to the same value")
    func message() throws {
        let message = MessageResource(
            id: Samples.message, conversationID: Samples.conversation, role: "assistant", content: "Hi", status: "complete", domain: nil,
            createdAt: Samples.noon, updatedAt: Samples.noon, turnID: Samples.turn)
        let bytes = JSONWriter.encode { message.write(to: &$0) }
        #expect(
            Samples.text(bytes)
                == #"{"id":"cccccccc-cccc-4ccc-8ccc-cccccccccccc","conversation_id":"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa","role":"assistant","content":"Hi","status":"complete","domain":null,"created_at":"2026-03-01T12:00:00.005Z","updated_at":"2026-03-01T12:00:00.005Z","turn_id":"01234567-89ab-cdef-0123-456789abcdef"}"#
        )
        #expect(try MessageResource(JSONReader(parsing: bytes)) == message)
    }

    @Test("a conversation has the fields of the contract and decodes to the same value")
    func conversation() throws {
        let conversation = ConversationResource(
            id: Samples.conversation, title: "Work", domain: "leadership", personaID: nil, lastMessageAt: nil, createdAt: Samples.noon,
            updatedAt: Samples.noon, deletedAt: nil)
        let bytes = JSONWriter.encode { conversation.write(to: &$0) }
        #expect(
            Samples.text(bytes)
                == #"{"id":"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa","title":"Work","domain":"leadership","persona_id":null,"last_message_at":null,"created_at":"2026-03-01T12:00:00.005Z","updated_at":"2026-03-01T12:00:00.005Z","deleted_at":null,"ephemeral":false,"source":"app"}"#
        )
        #expect(try ConversationResource(JSONReader(parsing: bytes)) == conversation)
        #expect(throws: JSONFinding("", .wrongType(expected: .object))) { try ConversationResource(JSONReader([])) }
    }
}
