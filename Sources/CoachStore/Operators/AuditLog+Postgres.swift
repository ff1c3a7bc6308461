import CoachCore
import Foundation
import PostgresClient

extension AuditLog {
    /// The log in PostgreSQL, read through functions that check the caller's role.
    public static func postgres(client: PostgresClient) -> AuditLog {
        AuditLog(
            entries: { caller, before, limit in
                let query: Query = "select \(AuditEntry.columns) from operator.audit_log(\(before), \(limit)::integer)"
                return try await client.operatorQuery(query, for: caller) { rows in try rows.map { row in try AuditEntry(row: row) } }
            },
            verify: {
                try await StoreFault.translating {
                    try await client.query("select entries, broken_at, head from gateway.verify_audit_log()") { rows in
                        try rows.only { row in
                            AuditChain(entries: try row.value(0), brokenAt: try row.value(1), head: try row.value(2))
                        }
                    }
                }
            })
    }
}

extension AuditEntry {
    fileprivate static let columns: Query = """
        sequence, actor_id, actor_role, action, target, before_version, after_version, reason, request_id, \
        (extract(epoch from created_at) * 1000000)::bigint, hash
        """

    fileprivate init(row: borrowing Row) throws {
        self.init(
            sequence: try row.value(0), actor: try row.value(1), actorRole: try row.value(2),
            action: try row.value(3), target: try row.value(4), beforeVersion: try row.value(5), afterVersion: try row.value(6),
            reason: try row.value(7), requestID: try row.value(8), createdAt: Date(microseconds: try row.value(9)),
            hash: try row.value(10))
    }
}
