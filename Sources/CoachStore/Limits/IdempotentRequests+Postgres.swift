import CoachCore
import JSON
import PostgresClient

extension IdempotentRequests {
    /// Idempotency keys in the table `gateway.idempotent_requests`. Each closure is one round trip.
    public static func postgres(client: PostgresClient) -> IdempotentRequests {
        IdempotentRequests(
            claim: { caller, request in
                let text: String? = try await client.call(
                    "gateway.claim_idempotency_key(\(caller.userID), \(request.key), \(request.route), \(request.body))", for: caller)
                return try StoredJSON.decode(ClaimAnswer.self, from: text ?? "").claim
            },
            complete: { caller, key, answer in
                let data = String(decoding: answer.data, as: UTF8.self)
                let _: String? = try await client.call(
                    """
                    gateway.complete_idempotency_key_2(
                        \(caller.userID), \(key), \(answer.status)::integer, \(data), \(answer.version)::bigint)
                    """, for: caller)
            },
            release: { caller, key, createdNothing in
                let _: String? = try await client.call(
                    "gateway.release_idempotency_key(\(caller.userID), \(key), \(createdNothing))", for: caller)
            })
    }
}

/// The result of `gateway.claim_idempotency_key`.
private struct ClaimAnswer: JSONReadable {
    private enum Outcome: String, CaseIterable {
        case claimed, completed, conflict
        case inProgress = "in_progress"
    }

    let claim: IdempotencyClaim

    init(_ json: JSONReader) throws(JSONFinding) {
        switch try json.required("outcome", .choice) as Outcome {
        case .claimed: claim = .claimed(resourceID: try json.required("resource_id"))
        case .completed:
            let data: String = try json.required("data")
            claim = .completed(
                CreationAnswer(status: try json.required("status"), data: Array(data.utf8), version: try json.optional("version")))
        case .inProgress: claim = .inProgress
        case .conflict: claim = .conflict
        }
    }
}
