import CoachCore
import PostgresClient

/// What stands at the head of a batch so that everything after it runs for one user, under row-level security. Both settings end with
/// the batch's transaction.
enum Claims {
    /// As the gateway, bound to the caller's claims: for the turn functions.
    static func gateway(for caller: Caller) -> Query {
        gateway(claims: caller.claims)
    }

    /// As the gateway, bound to a user whose token is no longer at hand: a receipt may be delivered long after.
    static func gateway(for userID: UserID) -> Query {
        gateway(claims: #"{"role":"authenticated","sub":"\#(userID)"}"#)
    }

    /// As the user himself, exactly as behind PostgREST: for what he may read and edit.
    static func user(_ caller: Caller) -> Query {
        "select set_config('request.jwt.claims', \(caller.claims), true), set_config('role', 'authenticated', true)"
    }

    private static func gateway(claims: String) -> Query {
        "select set_config('request.jwt.claims', \(claims), true)"
    }
}
