extension AuthenticatedContext {
    /// What the path names, such as an id. Throws 404 for what `read` does not take: a malformed id is that of nothing.
    public func path<Value>(_ name: String, _ read: (String) -> Value?) throws(GatewayError) -> Value {
        guard let value = parameters.get(name).flatMap(read) else { throw .notFound }
        return value
    }
}
