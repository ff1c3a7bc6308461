import CoachCore
import PostgresClient

/// Makes statements that set the user and role for row-level security. The settings are local to the batch's transaction.
enum Claims {
    /// A call as role `coach_gateway`, bound to the caller's claims.
    static func gateway(for caller: Caller, calling call: Query) -> Query {
        gateway(claims: caller.claims, subject: caller.userID, calling: call)
    }

    /// A call as role `coach_gateway`, bound to a user without their token, for work after the request, such as saving a receipt.
    static func gateway(for userID: UserID, calling call: Query) -> Query {
        gateway(claims: DatabaseClaims.json(user: userID, role: nil), subject: userID, calling: call)
    }

    /// The first statement of a batch that runs as role `authenticated` with the caller's claims, as behind PostgREST.
    static func user(_ caller: Caller) -> Query {
        "select set_config('request.jwt.claims', \(caller.claims), true), set_config('role', 'authenticated', true)"
    }

    /// A statement of a batch. Later prepared statements of the batch are planned once for each connection, and again when a table was analysed. For statements
    /// whose planning takes longer than a plan for their own values would save; PostgreSQL cannot know this.
    static let plannedOnce: Query = "select set_config('plan_cache_mode', 'force_generic_plan', true)"

    /// The first statement of a batch that runs as role `coach_gateway`, bound to the caller's claims.
    static func gateway(for caller: Caller) -> Query {
        """
        select set_config('request.jwt.claims', \(caller.claims), true), \
        set_config('request.jwt.claim.sub', \(caller.userID.description), true)
        """
    }

    /// Also sets the subject as a separate setting, because policies call `gateway.user_id()` for every row, which then need not parse
    /// JSON.
    ///
    /// Settings and call are one statement, which saves two messages and, in the server, a portal, a snapshot and a result. The settings
    /// take effect before the call: the subquery's row is computed first, and the planner does not flatten the subquery, because it is
    /// volatile.
    private static func gateway(claims: String, subject: UserID, calling call: Query) -> Query {
        "select \(call) from \(bound(claims: claims, subject: subject))"
    }

    /// An item of a FROM clause, `bound`, that binds the statement to the caller, with their `user_id`. What comes after it must use that, so that it
    /// is computed after the settings.
    static func bound(for caller: Caller) -> Query { bound(claims: caller.claims, subject: caller.userID) }

    private static func bound(claims: String, subject: UserID) -> Query {
        """
        (select set_config('request.jwt.claims', \(claims), true), \
        set_config('request.jwt.claim.sub', \(subject.description), true)::uuid as user_id) as bound
        """
    }
}
