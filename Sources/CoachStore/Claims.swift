import CoachCore
import PostgresClient

/// Statements that bind a batch to one user under row-level security. The settings end with the batch's transaction.
enum Claims {
    /// A call as role `coach_gateway`, bound to the caller's claims.
    static func gateway(for caller: Caller, calling call: Query) -> Query {
        gateway(claims: caller.claims, subject: caller.userID, calling: call)
    }

    /// A call as role `coach_gateway`, bound to a user without their token: a receipt may be delivered long after the request.
    static func gateway(for userID: UserID, calling call: Query) -> Query {
        gateway(claims: #"{"role":"authenticated","sub":"\#(userID)"}"#, subject: userID, calling: call)
    }

    /// The first statement of a batch that runs as role `authenticated` with the caller's claims, as behind PostgREST.
    static func user(_ caller: Caller) -> Query {
        "select set_config('request.jwt.claims', \(caller.claims), true), set_config('role', 'authenticated', true)"
    }

    /// The first statement of a batch that runs as role `coach_gateway`, bound to the caller's claims.
    static func gateway(for caller: Caller) -> Query {
        """
        select set_config('request.jwt.claims', \(caller.claims), true), \
        set_config('request.jwt.claim.sub', \(caller.userID.description), true)
        """
    }

    /// Sets the subject as a separate setting, too: policies call `gateway.user_id()` for every row, and it need not parse JSON each time.
    ///
    /// One statement instead of two saves two messages and, in the server, a portal, a snapshot and a result. The subquery's row is computed before
    /// the call, and the planner does not flatten the subquery because it is volatile.
    private static func gateway(claims: String, subject: UserID, calling call: Query) -> Query {
        var query: Query = "select "
        query.append(call)
        query.append(
            """
             from (select set_config('request.jwt.claims', \(claims), true), \
            set_config('request.jwt.claim.sub', \(subject.description), true)) as bound
            """)
        return query
    }
}
