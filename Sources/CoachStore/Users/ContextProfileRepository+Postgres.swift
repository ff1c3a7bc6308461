import CoachCore
import Foundation
import JSON
import PostgresClient

extension ContextProfileRepository {
    /// Profiles in PostgreSQL. Triggers number the versions and keep replaced ones.
    public static func postgres(client: PostgresClient) -> ContextProfileRepository {
        ContextProfileRepository(
            get: { caller in try await client.profile(of: caller) },
            edit: { caller, edit in try await client.edit(edit, of: caller) },
            history: { caller, before, limit in
                try await client.userRows(
                    """
                    select \(ContextProfileVersion.columns) from (
                        select version, "values", goals, situation, updated_at as written_at, restores from public.context_profiles
                        where user_id = \(caller.userID)
                        union all
                        select version, "values", goals, situation, written_at, restores from public.context_profile_history
                        where user_id = \(caller.userID)) p
                    where p.version < coalesce(\(before)::bigint, 9223372036854775807) order by p.version desc limit \(limit)
                    """, for: caller
                ) { try ContextProfileVersion(row: $0, at: 0) }
            })
    }
}

extension PostgresClient {
    fileprivate func profile(of caller: Caller) async throws -> ContextProfileVersion {
        try await userRows(
            "select \(ContextProfileVersion.currentColumns) from public.context_profiles p where user_id = \(caller.userID)", for: caller
        ) { try ContextProfileVersion(row: $0, at: 0) }.first ?? .empty
    }

    fileprivate func edit(_ edit: ContextProfileEdit, of caller: Caller) async throws -> ContextProfileVersion {
        do {
            if let updated = try await update(edit, of: caller) { return updated }
            if edit.expectedVersions?.contains(0) ?? true, let inserted = try await insert(edit, of: caller) { return inserted }
            // Another request has inserted it since: then it can be updated.
            if edit.expectedVersions == nil, let updated = try await update(edit, of: caller) { return updated }
            throw StaleVersion()
        } catch let error as PostgresError where error.constraint == "context_profiles_quota" {
            throw Rejection(reason: .tooManyItems)
        } catch let error as PostgresError where error.sqlState == SQLState.checkViolation {
            // PostgreSQL's name of a column's check.
            let field = ContextProfileField.allCases.first { error.constraint == "context_profiles_\($0.rawValue)_check" }
            guard let field else { throw error }
            throw ProfileTooLong(field)
        }
    }

    /// Nil when the user has no profile, or its version is not among the expected ones.
    private func update(_ edit: ContextProfileEdit, of caller: Caller) async throws -> ContextProfileVersion? {
        let fields: [Query?] = ContextProfileField.allCases.map { field in
            edit.fields[field].map { "\(field.column) = \(StoredJSON.encode($0))::jsonb" }
        }
        let assignments = Query.assignments(fields + [edit.restores.map { "restores = \($0)::integer" }])
        // An update that changes nothing makes no new version.
        var update: Query = """
            update public.context_profiles p set \(assignments ?? "goals = goals") where p.user_id = \(caller.userID)
            """
        if let expected = edit.expectedVersions { update.append(" and p.version = any (\(expected))") }
        update.append(" returning \(ContextProfileVersion.currentColumns)")
        return try await userRows(update, for: caller) { try ContextProfileVersion(row: $0, at: 0) }.first
    }

    /// Nil when the user already has a profile.
    private func insert(_ edit: ContextProfileEdit, of caller: Caller) async throws -> ContextProfileVersion? {
        func statements(_ field: ContextProfileField) -> String { StoredJSON.encode(edit.fields[field] ?? []) }
        return try await userRows(
            """
            insert into public.context_profiles as p (user_id, "values", goals, situation)
            values (\(caller.userID), \(statements(.values))::jsonb, \(statements(.goals))::jsonb, \(statements(.situation))::jsonb)
            on conflict on constraint context_profiles_pkey do nothing returning \(ContextProfileVersion.currentColumns)
            """, for: caller
        ) { try ContextProfileVersion(row: $0, at: 0) }.first
    }
}

extension ContextProfileField {
    fileprivate var column: Query {
        switch self {
        case .values: "\"values\""
        case .goals: "goals"
        case .situation: "situation"
        }
    }
}

extension ContextProfileVersion {
    /// The columns of a relation `p` that has `written_at`.
    fileprivate static let columns: Query = """
        p.version, p."values", p.goals, p.situation, (extract(epoch from p.written_at) * 1000000)::bigint, p.restores
        """
    /// The number of `columns`.
    static let width = 6
    /// The columns of `p`, a row of `context_profiles`.
    static let currentColumns: Query = """
        p.version, p."values", p.goals, p.situation, (extract(epoch from p.updated_at) * 1000000)::bigint, p.restores
        """

    init(row: borrowing Row, at first: Int) throws {
        var fields: [ContextProfileField: [JSONValue]] = [:]
        for (index, field) in ContextProfileField.allCases.enumerated() {
            fields[field] = try JSONValue.stored(try row.value(first + 1 + index)).elements ?? []
        }
        self.init(
            version: try row.value(first), fields: fields, writtenAt: try row.date(first + 4),
            restores: try row.value(first + 5, as: Int64?.self))
    }
}
