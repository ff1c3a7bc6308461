import CoachCore
import JSON

/// Jobs as JSON: the argument `jobs` of the functions that store billing events.
struct StoredJobs: StoredWritable {
    private let jobs: [NewJob]

    init(_ jobs: [NewJob]) { self.jobs = jobs }

    func write(to json: inout JSONWriter) {
        json.array { json in
            for job in jobs {
                json.object { json in
                    json.member("user_id", job.userID?.description)
                    json.member("kind", job.kind.rawValue)
                    json.key("payload")
                    job.payload.write(to: &json)
                    json.member("key", job.idempotencyKey)
                    json.member("delay_seconds", job.delay.inSeconds)
                }
            }
        }
    }
}

extension EntitlementFold {
    /// A longer state is not stored: to write it with every event would cost more than to fold all events again.
    private static let longestState = 16_384

    /// The column `state` of `gateway.subscribers`.
    var storedState: String? {
        let bytes = json.bytes
        return bytes.count > Self.longestState ? nil : String(decoding: bytes, as: UTF8.self)
    }
}

extension [FoldedEntitlements] {
    /// The argument of `gateway.write_entitlements`.
    var stored: String { String(decoding: JSONValue.array(map(\.json)).bytes, as: UTF8.self) }
}

extension FoldedEntitlements {
    fileprivate var json: JSONValue {
        func object(_ until: [String: Expiry]) -> JSONValue {
            .object(until.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value.json) })
        }
        return [
            "user_id": .string(userID.description), "timeline": .string(String(decoding: timeline.json.bytes, as: UTF8.self)),
            "paid": object(paidUntil), "trials": object(trialUntil),
        ]
    }
}

extension BillingFigures {
    /// The member `figures` of `gateway.folded_event`.
    var json: JSONValue {
        [
            "rank": .integer(Int64(rank)), "kind": .string(kind.rawValue),
            "purchase": .string(purchase), "payment": payment.map { .string($0) } ?? .null,
            "invoice": invoice.map { .string($0) } ?? .null, "replaces": replaces.map { .string($0) } ?? .null,
            "store": .string(store.rawValue), "product": product.map { .string($0) } ?? .null,
            "nanodollars": price.map { .integer($0.raw) } ?? .null,
            "period_start": periodStart.map { .integer($0.milliseconds) } ?? .null, "period_end": periodEnd?.json ?? .null,
            "renews": .bool(renews), "will_renew": willRenew.map { .bool($0) } ?? .null,
        ]
    }
}
