import CoachCore
import PostgresClient

extension PostgresClient {
    /// Runs statements as role `authenticated` with the caller's claims, so that row-level security decides what exists for them, as behind
    /// PostgREST. Returns the rows of the last one. Throws `StoreFault`, and `PostgresError` for what policies and constraints reject.
    func userRows<Record: Sendable>(
        _ queries: Query..., for caller: Caller, decode: @escaping @Sendable (borrowing Row) throws -> Record
    ) async throws -> [Record] {
        try await StoreFault.translating(except: [SQLState.insufficientPrivilege, SQLState.checkViolation]) {
            try await repeatingContended {
                try await batch([Claims.user(caller)] + queries, affinity: caller.userID.affinity) { rows in try rows.map(decode) }
            }
        }
    }
}

extension Query {
    /// Assignments of an `update`, separated by commas; nil without any.
    static func assignments(_ assignments: [Query?]) -> Query? {
        let all = assignments.compactMap { $0 }
        guard var list = all.first else { return nil }
        for assignment in all.dropFirst() { list.append(", \(assignment)") }
        return list
    }
}
