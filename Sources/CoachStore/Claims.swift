import CoachCore
import PostgresClient

/// What makes statements run for one user, under row-level security. All settings end with the batch's transaction.
enum Claims {
    /// A call by the gateway, bound to the caller's claims: for the turn functions.
    static func gateway(for caller: Caller, calling call: Query) -> Query {
        gateway(claims: caller.claims, subject: caller.userID, calling: call)
    }

    /// A call by the gateway, bound to a user whose token is no longer at hand: a receipt may be delivered long after.
    static func gateway(for userID: UserID, calling call: Query) -> Query {
        gateway(claims: #"{"role":"authenticated","sub":"\#(userID)"}"#, subject: userID, calling: call)
    }

    /// Stands at the head of a batch. As the user himself, exactly as behind PostgREST: for what he may read and edit.
    static func user(_ caller: Caller) -> Query {
        "select set_config('request.jwt.claims', \(caller.claims), true), set_config('role', 'authenticated', true)"
    }

    /// The subject stands by itself as well, where `gateway.user_id()` looks: it is asked for every row, and need not read JSON each time.
    ///
    /// One statement and not two: each is a message here and there, and a portal, a snapshot and a result in the server. The row of the subquery
    /// is made before anything is computed from it, and stays one because it is volatile.
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
