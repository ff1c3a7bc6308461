import GatewayAPI
import JSON

extension GatewayError {
    /// 412 with the current version of the resource in `details.current` and its `ETag`, so that the client can merge and try again.
    static func stale(_ current: some WireResource, _ tag: EntityTag) -> GatewayError {
        var error = GatewayError(.preconditionFailed, "the resource was changed in the meantime")
        if let json = try? JSONValue(parsing: JSONWriter.encode({ current.write(to: &$0) })) { error.details.append(("current", json)) }
        error.headers += [("ETag", tag.text), ("Cache-Control", EntityTag.cacheControl)]
        return error
    }
}
