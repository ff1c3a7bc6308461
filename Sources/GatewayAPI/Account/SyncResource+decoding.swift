import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SyncResource: JSONReadable {
    /// Leaves out changes of kinds that a newer server may send.
    public init(_ json: JSONReader) throws(JSONFinding) {
        let changes: [DecodedChange] = try json.required("changes")
        self.init(
            changes: changes.compactMap(\.change), next: try json.required("next"), hasMore: try json.required("has_more"),
            reset: try json.required("reset"))
    }
}

private struct DecodedChange: JSONReadable {
    let change: SyncResource.Change?

    init(_ json: JSONReader) throws(JSONFinding) {
        switch try json.required("type", as: String.self) {
        case "profile": change = .profile(try json.required("profile"))
        case "conversation": change = .conversation(try json.required("conversation"))
        case "message": change = .message(try json.required("message"), conversationID: try json.required("conversation_id"))
        case "persona": change = .persona(try json.required("persona"))
        case "own_persona": change = .ownPersona(try json.required("own_persona"))
        case "persona_removed": change = .personaRemoved(try json.required("persona_id"))
        default: change = nil
        }
    }
}
