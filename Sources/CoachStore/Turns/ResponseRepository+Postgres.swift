import CoachCore
import JSON
import PostgresClient

extension ResponseRepository {
    public static func postgres(client: PostgresClient) -> ResponseRepository {
        ResponseRepository(
            input: { caller, turnID in
                let text: String? = try await client.call("gateway.response_input(\(caller.userID), \(turnID))", for: caller)
                return try text.map { try StoredJSON.decode(ResponseInput.self, from: $0) }
            },
            delete: { caller, turnID in try await client.call("gateway.delete_response(\(caller.userID), \(turnID))", for: caller) })
    }
}

extension ResponseInput: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            messageID: try json.required("message_id"), text: try json.required("content"), isLatest: try json.required("is_latest"),
            isOfResponse: try json.required("is_of_response"))
    }
}
