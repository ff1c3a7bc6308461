import CoachCore

/// The argument of `gateway.finish_turn`. What is nil is left out, which the function reads as NULL.
struct FinishTurnRequest: Encodable {
    var turnID: TurnID
    var attempt: Int
    var status: String
    var finishReason: String?
    var errorCode: String?
    var content: String
    var bill: StoredBill?
    var domain: StoredDomain
    var risk: StoredRisk
    var timeToFirstToken: Int?
    var duration: Int
    var settledBy: String

    enum CodingKeys: String, CodingKey {
        case attempt, status, content, bill, domain, risk
        case turnID = "turn_id"
        case finishReason = "finish_reason"
        case errorCode = "error_code"
        case timeToFirstToken = "time_to_first_token_ms"
        case duration = "duration_ms"
        case settledBy = "settled_by"
    }

    init(_ receipt: TurnReceipt) {
        turnID = receipt.identity.turnID
        attempt = receipt.identity.attempt
        status = receipt.status.rawValue
        finishReason = receipt.finishReason?.rawValue
        errorCode = receipt.errorCode
        content = receipt.content
        bill = receipt.bill.map(StoredBill.init)
        domain = StoredDomain(receipt.domain)
        risk = StoredRisk(receipt.risk)
        timeToFirstToken = receipt.timeToFirstTokenMilliseconds
        duration = receipt.durationMilliseconds
        settledBy = receipt.settledBy.rawValue
    }
}

/// The answer of `gateway.finish_turn`.
struct FinishTurnAnswer: Decodable {
    var outcome: ReceiptOutcome
}

/// What became of a receipt.
public enum ReceiptOutcome: String, Sendable, Decodable {
    /// Written now.
    case settled
    /// It had been written before; nothing changed.
    case alreadySettled = "already_settled"
    /// A later attempt runs or ended; only the ledger was written.
    case superseded
    /// There is no such turn: its user was erased. Nothing to write, and no use in trying again.
    case unknownTurn = "unknown_turn"
}
