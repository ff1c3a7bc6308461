import CoachCore
import PostgresClient

extension ResponseRemoval {
    public static func postgres(client: PostgresClient) -> ResponseRemoval {
        ResponseRemoval { caller, turnID in try await client.call("gateway.delete_response(\(caller.userID), \(turnID))", for: caller) }
    }
}
