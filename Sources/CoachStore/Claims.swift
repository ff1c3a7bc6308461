import CoachCore
import PostgresClient

/// What stands at the head of a batch so that everything after it runs for one user, under row-level security. All settings end with
/// the batch's transaction.
enum Claims {
    /// As the gateway, bound to the caller's claims: for the turn functions.
    static func gateway(for caller: Caller) -> Query {
        gateway(claims: caller.claims, subject: caller.userID)
    }

    /// As the gateway, bound to a user whose token is no longer at hand: a receipt may be delivered long after.
    static func gateway(for userID: UserID) -> Query {
        gateway(claims: #"{"role":"authenticated","sub":"\#(userID)"}"#, subject: userID)
    }

    /// As the user himself, exactly as behind PostgREST: for what he may read and edit.
    static func user(_ caller: Caller) -> Query {
        "select set_config('request.jwt.claims', \(caller.claims), true), set_config('role', 'authenticated', true)"
    }

    /// The subject stands by itself as well, where `auth.uid()` looks first: it is asked once a table, and need not read JSON each time.
    private static func gateway(claims: String, subject: UserID) -> Query {
        """
        select set_config('request.jwt.claims', \(claims), true), \
        set_config('request.jwt.claim.sub', \(subject.description), true)
        """
    }
}
