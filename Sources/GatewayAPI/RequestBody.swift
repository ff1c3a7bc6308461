import JSON

/// The JSON body of a request. Names are accepted in snake_case and camelCase.
extension JSONReader {
    /// A reader of a request's body, which rejects U+0000, lone surrogates and repeated names in the fields that are read.
    public init(requestBody bytes: [UInt8]) throws(JSONFinding) {
        try self.init(parsing: bytes, flaws: .rejectedWhereRead, spelling: .snakeOrCamelCase)
        if value.members == nil { try report(.wrongType(expected: .object)) }
    }
}

/// What a client is told about a rejected body.
extension JSONFinding {
    /// Whether the body is not JSON (status 400); all other findings are 422.
    public var isMalformed: Bool {
        if case .malformed = problem { true } else { false }
    }

    /// The snake_case name for `details.field`; nil when the finding concerns the whole body.
    public var field: String? { path.isEmpty || isMalformed ? nil : path }

    /// A description for developers. Never contains content of the body, because it is logged.
    public var requestMessage: String { field == nil ? "the body \(problem)" : description }
}
