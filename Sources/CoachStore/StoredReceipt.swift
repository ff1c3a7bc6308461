import CoachCore
import JSON

/// A receipt as the argument of `gateway.finish_turn`, which knows the other ids by the turn's.
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

/// The answer of `gateway.finish_turn`.
struct FinishTurnAnswer: StoredReadable {
    let outcome: ReceiptOutcome

    init(_ stored: StoredValue) throws(StoredMismatch) {
        outcome = try stored.choice("outcome")
    }
}

/// A receipt as a file of the spool: everything, so that it can be delivered by any process, long after.
struct StoredReceipt: StoredWritable, StoredReadable {
    /// The form that this version writes, and the only one so far. What a later version wrote is a mismatch.
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

    init(_ stored: StoredValue) throws(StoredMismatch) {
        guard try stored.member("version", as: Int.self) == Self.version else { throw StoredMismatch(path: "version") }
        receipt = TurnReceipt(
            userID: try stored.member("user_id"), identity: try stored.member("turn"), status: try stored.choice("status"),
            finishReason: try stored.optionalChoice("finish_reason"), content: try stored.member("content"),
            bill: try stored.optional("bill"), domain: try stored.member("domain"), risk: try stored.member("risk"),
            country: try stored.optional("country"), locale: try stored.optional("locale"),
            errorCode: try stored.optional("error_code"), timeToFirstTokenMilliseconds: try stored.optional("time_to_first_token_ms"),
            durationMilliseconds: try stored.member("duration_ms"), finalizedBy: try stored.choice("finalized_by"))
    }
}

extension TurnReceipt {
    /// The members that the database and the spool have in common.
    fileprivate func writeEnd(to json: inout JSONWriter) {
        json.field("status", status.rawValue)
        json.field("finish_reason", finishReason?.rawValue)
        json.field("error_code", errorCode)
        json.field("content", content)
        json.field("bill", bill)
        json.field("domain", domain)
        json.field("risk", risk)
        json.field("country", country)
        json.field("locale", locale)
        json.field("time_to_first_token_ms", timeToFirstTokenMilliseconds)
        json.field("duration_ms", durationMilliseconds)
        json.field("finalized_by", finalizedBy.rawValue)
    }
}
