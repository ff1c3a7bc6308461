import Hummingbird

/// Typed query parameters. A malformed value throws `VAL_3001` with the parameter's name.
extension Request {
    /// Nil when the parameter is absent.
    public func integer(_ name: String) throws(GatewayError) -> Int? {
        guard let text = uri.queryParameters[Substring(name)] else { return nil }
        guard let number = Int(text) else { throw invalid(name, "a whole number") }
        return number
    }

    /// The same for a number within bounds.
    public func integer(_ name: String, in bounds: ClosedRange<Int>) throws(GatewayError) -> Int? {
        guard let text = uri.queryParameters[Substring(name)] else { return nil }
        guard let number = Int(text), bounds.contains(number) else {
            throw invalid(name, "a number from \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return number
    }

    /// `true` or `false`; false when the parameter is absent.
    public func flag(_ name: String) throws(GatewayError) -> Bool {
        guard let text = uri.queryParameters[Substring(name)] else { return false }
        guard let flag = Bool(String(text)) else { throw invalid(name, "true or false") }
        return flag
    }

    /// Rejects U+0000, which PostgreSQL's texts do not have, in every parameter.
    func checkQuery() throws(GatewayError) {
        guard uri.query != nil else { return }
        for (name, value) in uri.queryParameters where value.utf8.contains(0) { throw invalid(String(name), "without U+0000") }
    }

    /// This request without the query parameters that its route does not declare: they change no answer, so no cursor depends on them.
    func keeping(queries names: Set<String>) -> Request {
        guard let query = uri.query else { return self }
        let parameters = query.split(separator: "&", omittingEmptySubsequences: false)
        let declared = parameters.filter { names.contains(String($0.prefix { $0 != "=" })) }
        guard declared.count < parameters.count else { return self }
        var head = self.head
        head.path = declared.isEmpty ? uri.path : "\(uri.path)?\(declared.joined(separator: "&"))"
        return Request(head: head, body: body)
    }

    private func invalid(_ name: String, _ expected: String) -> GatewayError {
        GatewayError(.invalidInput, "\(name) must be \(expected)").naming(field: name)
    }
}
