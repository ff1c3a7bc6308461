import PostgresClient

/// Settings of the gateway's sessions, as settings of its role in its database: migrations 00056 and 00105 say why. A dump that is restored into a
/// database that exists comes without them, so every run of `migrate` sets those that the database lacks.
enum RoleSettings {
    private static let all = [
        (name: "datestyle", value: "ISO"), (name: "idle_in_transaction_session_timeout", value: "10s"), (name: "jit", value: "off"),
        (name: "lock_timeout", value: "1s"), (name: "statement_timeout", value: "2s"), (name: "timezone", value: "UTC"),
    ]
    private static let (names, values) = (all.map { $0.name }, all.map { $0.value })

    /// The names of settings that this session has with another value, as `text[]`. Without the time limit of statements, for which a direct connection
    /// asks itself. A date style has the order of day and month behind it.
    static let differing: Query = """
        array(
            select w.name from unnest(\(names)::text[], \(values)::text[]) as w (name, value)
            where w.name <> 'statement_timeout' and not starts_with(lower(current_setting(w.name)), lower(w.value)) order by w.name)
        """

    /// Sets what the role lacks in the database, if there is such a role. A role that may not do so can still find that nothing is to do.
    static func apply(on lease: Lease) async throws {
        let statements = try await lease.query(
            """
            select format('alter role coach_gateway in database %I set %I = %L', current_database(), w.name, w.value)
            from unnest(\(names)::text[], \(values)::text[]) as w (name, value)
            join pg_roles r on r.rolname = 'coach_gateway'
            where not exists (
                select from pg_db_role_setting s
                join pg_database d on d.oid = s.setdatabase
                cross join lateral unnest(s.setconfig) as setting
                where d.datname = current_database() and s.setrole = r.oid and lower(setting) = lower(w.name || '=' || w.value))
            """
        ) { rows in try rows.map { row in try row.value(0, as: String.self) } }
        for statement in statements { try await lease.execute(script: statement) }
    }
}
