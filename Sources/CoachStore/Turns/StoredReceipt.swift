import CoachCore
import JSON

/// A receipt as the argument of `gateway.finish_turn`, without the ids that the database has stored with the turn.
struct FinishTurnRequest: StoredWritable {
    let receipt: TurnReceipt

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("conversation_id", receipt.identity.conversationID)
            json.field("turn_id", receipt.identity.turnID)
            json.field("attempt", receipt.identity.attempt)
            receipt.writeEnd(to: &json)
        }
    }
}

/// The result of `gateway.finish_turn`.
extension ReceiptOutcome: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) { self = try json.required("outcome", .choice) }
}

/// A receipt as a file of the spool. It contains everything, so that any later process can deliver it.
struct StoredReceipt: StoredWritable, JSONReadable {
    /// The version of the file format. Reading another version is an error.
    static let version = 1

    let receipt: TurnReceipt

    init(_ receipt: TurnReceipt) {
        self.receipt = receipt
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("version", Self.version)
            json.field("user_id", receipt.userID)
            json.field("turn", receipt.identity)
            receipt.writeEnd(to: &json)
        }
    }

    init(_ json: JSONReader) throws(JSONFinding) {
        _ = try json.required("version", .integer(Self.version...Self.version))
        receipt = TurnReceipt(
            userID: try json.required("user_id"), identity: try json.required("turn"), status: try json.required("status", .choice),
            finishReason: try json.optional("finish_reason", .choice), content: try json.required("content"),
            bill: try json.optional("bill"), domain: try json.required("domain"), risk: try json.optional("risk"),
            region: try Region(json),
            errorCode: try json.optional("error_code"), timeToFirstTokenMilliseconds: try json.optional("time_to_first_token_ms"),
            durationMilliseconds: try json.required("duration_ms"), summaryTokens: try json.optional("summary_tokens"),
            finalizedBy: try json.required("finalized_by", .choice), crisis: try json.optional("crisis"),
            otherCalls: try json.optional("calls"))
    }
}

extension TurnReceipt {
    /// Writes the members that `FinishTurnRequest` and `StoredReceipt` have in common.
    fileprivate func writeEnd(to json: inout JSONWriter) {
        json.field("status", status.rawValue)
        json.field("finish_reason", finishReason?.rawValue)
        json.field("error_code", errorCode)
        json.field("content", content)
        json.field("bill", bill)
        json.field("domain", domain)
        json.field("risk", risk)
        region.writeFields(to: &json)
        json.field("time_to_first_token_ms", timeToFirstTokenMilliseconds)
        json.field("duration_ms", durationMilliseconds)
        json.field("summary_tokens", summaryTokens)
        json.field("finalized_by", finalizedBy.rawValue)
        json.field("crisis", crisis)
        if let otherCalls { json.field("calls", otherCalls) }
    }
}
