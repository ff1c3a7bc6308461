import CoachCore
import Foundation
import PostgresClient

extension ConsentRepository {
    /// Consents in PostgreSQL.
    public static func postgres(client: PostgresClient) -> ConsentRepository {
        ConsentRepository(
            current: { caller in
                try await client.userRows(
                    """
                    select distinct on (kind) kind, version, granted, (extract(epoch from decided_at) * 1000000)::bigint
                    from public.consents where user_id = \(caller.userID) order by kind, sequence desc
                    """, for: caller
                ) { row in
                    ConsentRecord(
                        kind: try .stored(try row.value(0)), version: try row.value(1), isGranted: try row.value(2),
                        decidedAt: Date(microseconds: try row.value(3)))
                }
            },
            record: { caller, kind, version, granted in
                let _: String? = try await client.call(
                    """
                    gateway.record_consent(\(caller.userID), \(kind.rawValue)::public.consent_kind, \(version), \(granted))
                    """, for: caller)
            })
    }
}
