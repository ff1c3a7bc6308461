import CoachCore
import PostgresClient

extension PostgresClient {
    /// Runs statements as role `authenticated` with the caller's claims, so that row-level security limits them to the caller's rows, as
    /// with PostgREST. Returns the decoded rows of the last one. Throws `StoreFault`, and `PostgresError` when a policy or constraint
    /// rejects a statement.
    func userRows<Record: Sendable>(
        _ queries: Query..., for caller: Caller, decode: @escaping @Sendable (borrowing Row) throws -> Record
    ) async throws -> [Record] {
        try await StoreFault.translating(except: [SQLState.insufficientPrivilege, SQLState.checkViolation]) {
            try await repeatingContended {
                try await batch([Claims.user(caller)] + queries, affinity: caller.userID.affinity) { rows in try rows.map(decode) }
            }
        }
    }

    /// As `userRows`, for rows that users reach through the gateway only: as role `coach_gateway`, bound to the caller's claims. Does not retry.
    /// Throws `StoreFault`.
    func gatewayRows<Record: Sendable>(
        _ queries: Query..., for caller: Caller, decode: @escaping @Sendable (borrowing Row) throws -> Record
    ) async throws -> [Record] {
        try await StoreFault.translating {
            try await batch([Claims.gateway(for: caller)] + queries, affinity: caller.userID.affinity) { rows in try rows.map(decode) }
        }
    }

    /// Runs a statement as `gatewayRows` that returns 1 for each row that it changes. Throws `Rejection` `notFound` when it changes none.
    func change(_ statement: Query, for caller: Caller) async throws {
        _ = try await gatewayRows(statement, for: caller) { try $0.value(0, as: Int.self) }.first.orNotFound()
    }

    /// Calls a function of schema `gateway` for a user without their token, and again while another transaction is in its way. Throws `StoreFault`.
    func call<Value: ColumnValue & Sendable>(
        _ function: Query, boundTo userID: UserID, as type: Value.Type = Value.self
    ) async throws -> Value {
        let query = Claims.gateway(for: userID, calling: function)
        return try await StoreFault.translating {
            try await repeatingContended { try await value(of: query, for: userID, as: type) }
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

extension Optional {
    /// What a query has found. Throws `Rejection` `notFound` for nil.
    func orNotFound() throws(Rejection) -> Wrapped {
        guard let self else { throw Rejection(reason: .notFound) }
        return self
    }
}
