import CoachCore
import Foundation
import JSON
import Testing

@testable import CoachStore

@Suite("StoredJSON")
struct StoredJSONTests {
    private static let id = "6f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d11"

    /// The form that Foundation's encoder wrote in earlier versions: members in any order, slashes escaped.
    private static let receipt = #"""
        {"duration_ms":1200,"turn":{"user_message_id":"\#(id)","attempt":3,"turn_id":"\#(id)","message_id":"\#(id)","conversation_id":"\#(id)"},
        "content":"either\/or \"ü\" \ud83d\ude80\n","finalized_by":"recovery","domain":{"confidence":0.3,"source":"conversation","domain":"mindset"},
        "bill":{"estimated":true,"output":20,"provider":"openai","input":7,"cost_nanodollars":123456789012,"model":"m"},
        "version":1,"user_id":"\#(id.uppercased())","status":"stopped","finish_reason":"stopped","time_to_first_token_ms":45,
        "risk":{"tier":4,"patterns":["a","b"],"categories":["self_harm"],"subject":"self"}}
        """#

    @Test("a receipt of an earlier version is read, with its members in any order")
    func earlierReceipt() throws {
        let receipt = try StoredJSON.decode(StoredReceipt.self, from: Array(Self.receipt.utf8)).receipt
        let uuid = try #require(UUID(uuidString: Self.id))
        #expect(
            receipt
                == TurnReceipt(
                    userID: UserID(uuid),
                    identity: TurnIdentity(
                        turnID: TurnID(uuid), conversationID: ConversationID(uuid), userMessageID: MessageID(uuid),
                        messageID: MessageID(uuid), attempt: 3),
                    status: .stopped, finishReason: .stopped, content: "either/or \"ü\" 🚀\n",
                    bill: TurnBill(
                        name: ModelName(provider: "openai", model: "m"), usage: TokenUsage(input: 7, output: 20),
                        cost: Nanodollars(123_456_789_012),
                        estimated: true),
                    domain: DomainDecision(domain: .mindset, confidence: 0.3, source: .conversation),
                    risk: RiskAssessment(tier: .imminent, categories: [.selfHarm], subject: .user, patterns: ["a", "b"]), errorCode: nil,
                    timeToFirstTokenMilliseconds: 45, durationMilliseconds: 1200, finalizedBy: .recovery))
        #expect(try StoredJSON.decode(StoredReceipt.self, from: StoredJSON.bytes(StoredReceipt(receipt))).receipt == receipt)
    }

    @Test(
        "a mismatch is reported with its path, never with its value",
        arguments: [
            (#""status":"stopped""#, #""status":"canary""#, "status"),
            (#""attempt":3"#, #""attempt":"canary""#, "turn.attempt"),
            (#""attempt":3"#, #""attempt":3.5"#, "turn.attempt"),
            (#""attempt":3,"#, "", "turn.attempt"),
            (#""source":"conversation""#, #""source":null"#, "domain.source"),
            (#"["a","b"]"#, #"["a",{"canary":1}]"#, "risk.patterns[1]"),
            (#"["self_harm"]"#, #"["canary"]"#, "risk.categories[0]"),
            (#""input":7"#, #""input":"canary""#, "bill.input"),
            (#""version":1"#, #""version":2"#, "version"),
            (#""tier":4"#, #""tier":9"#, "risk.tier"),
            (#""finalized_by":"recovery""#, #""finalized_by":canary"#, "finalized_by"),
        ])
    func mismatch(part: String, wrong: String, path: String) throws {
        try #require(Self.receipt.contains(part))
        let text = Self.receipt.replacingOccurrences(of: part, with: wrong)
        let finding = #expect(throws: JSONFinding.self) { try StoredJSON.decode(StoredReceipt.self, from: Array(text.utf8)) }
        #expect(finding?.path == path && finding?.description.contains("canary") == false)
    }

    @Test("an error in the database's result has the type and the path")
    func fault() {
        #expect(throws: StoreFault.unexpected("the answer of the database is not a ReceiptOutcome: outcome")) {
            try StoredJSON.decode(ReceiptOutcome.self, from: #"{"outcome":"canary"}"#)
        }
    }

    @Test("nil is omitted, which the database's functions read as NULL")
    func absent() throws {
        let request = BeginTurnRequest(
            kind: .message(TurnRequest(message: "\u{2028}\"ü\""), .calm),
            tiers: TierBook([Tier("free", messagesPerDay: 200, history: Tier.History(tokens: 10, messages: 2))], graceSeconds: 60),
            consents: RequiredConsents(), owner: TurnOwner(instance: try #require(UUID(uuidString: Self.id)), epoch: 7))
        #expect(
            StoredJSON.encode(request)
                == #"{"message":"\u2028\"ü\"","risk":{"tier":0,"categories":[],"subject":"unclear","patterns":[]},"#
                + #""limits":{"tiers":[{"name":"free","requests_per_minute":600,"messages_per_day":200,"#
                + #""history":{"tokens":10,"messages":2}}],"paid":{},"trials":{},"grace_seconds":60,"#
                + #""crisis":{"model_calls_per_day":30,"concurrent_turns":20}},"#
                + #""owner":{"instance":"\#(Self.id)","epoch":7}}"#)
    }
}
