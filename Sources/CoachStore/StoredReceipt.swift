import CoachCore
import Foundation

/// A receipt as a file of the spool: everything, so that it can be delivered by any process, long after.
struct StoredReceipt: Codable {
    /// The form that this version writes, and the only one so far.
    static let currentVersion = 1

    var version: Int
    var userID: UserID
    var turn: StoredIdentity
    var status: String
    var finishReason: String?
    var content: String
    var bill: StoredBill?
    var domain: StoredDomain
    var risk: StoredRisk
    var errorCode: String?
    var timeToFirstToken: Int?
    var duration: Int
    var settledBy: String

    enum CodingKeys: String, CodingKey {
        case version, turn, status, content, bill, domain, risk
        case userID = "user_id"
        case finishReason = "finish_reason"
        case errorCode = "error_code"
        case timeToFirstToken = "time_to_first_token_ms"
        case duration = "duration_ms"
        case settledBy = "settled_by"
    }

    init(_ receipt: TurnReceipt) {
        version = Self.currentVersion
        userID = receipt.userID
        turn = StoredIdentity(receipt.identity)
        status = receipt.status.rawValue
        finishReason = receipt.finishReason?.rawValue
        content = receipt.content
        bill = receipt.bill.map(StoredBill.init)
        domain = StoredDomain(receipt.domain)
        risk = StoredRisk(receipt.risk)
        errorCode = receipt.errorCode
        timeToFirstToken = receipt.timeToFirstTokenMilliseconds
        duration = receipt.durationMilliseconds
        settledBy = receipt.settledBy.rawValue
    }

    /// Throws when a later version wrote something that this one does not know.
    var receipt: TurnReceipt {
        get throws {
            guard version == Self.currentVersion else { throw StoreFault.unexpected("a receipt of version \(version)") }
            return TurnReceipt(
                userID: userID, identity: turn.identity, status: try .stored(status),
                finishReason: try finishReason.map { try .stored($0) },
                content: content, bill: bill?.bill, domain: try domain.decision, risk: try risk.assessment, errorCode: errorCode,
                timeToFirstTokenMilliseconds: timeToFirstToken, durationMilliseconds: duration, settledBy: try .stored(settledBy))
        }
    }
}
