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
                    select distinct on (kind) \(ConsentRecord.columns)
                    from public.consents where user_id = \(caller.userID) order by kind, sequence desc
                    """, for: caller
                ) { try ConsentRecord(row: $0, at: 0) }
            },
            record: { caller, kind, version, granted in
                do {
                    let _: String? = try await client.call(
                        """
                        gateway.record_consent(\(caller.userID), \(kind.rawValue)::public.consent_kind, \(version), \(granted))
                        """, for: caller, except: [SQLState.checkViolation])
                } catch let error as PostgresError where error.constraint == "consents_quota" {
                    throw Rejection(reason: .tooManyItems)
                }
            })
    }
}

extension ConsentRecord {
    static let columns: Query = "kind, version, granted, (extract(epoch from decided_at) * 1000000)::bigint"

    init(row: borrowing Row, at first: Int) throws {
        self.init(
            kind: try .stored(try row.value(first)), version: try row.value(first + 1), isGranted: try row.value(first + 2),
            decidedAt: Date(microseconds: try row.value(first + 3)))
    }
}
