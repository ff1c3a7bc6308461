import CoachCore
import PostgresClient

extension ReportRepository {
    /// Reports in PostgreSQL. A row-level security policy decides what a user may report.
    public static func postgres(client: PostgresClient) -> ReportRepository {
        ReportRepository { caller, report in
            var (persona, message): (PersonaID?, MessageID?) = (nil, nil)
            switch report.subject {
            case .persona(let id): persona = id
            case .answer(let id): message = id
            }
            do {
                _ = try await client.userRows(
                    """
                    insert into public.reports (user_id, id, persona_id, message_id, reason, comment)
                    values (
                        \(caller.userID), \(report.id), \(persona), \(message), \(report.reason.rawValue)::public.report_reason,
                        \(report.comment))
                    on conflict on constraint reports_pkey do nothing
                    """, for: caller
                ) { _ in true }
            } catch let error as PostgresError where error.constraint == "reports_quota" {
                throw Rejection(reason: .tooManyItems)
            } catch let error as PostgresError where error.sqlState == SQLState.insufficientPrivilege {
                throw Rejection(reason: persona == nil ? .notFound : .unknownPersona)
            }
        }
    }
}
