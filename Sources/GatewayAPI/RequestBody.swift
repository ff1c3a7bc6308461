import JSON

/// The JSON body of a request. Names are accepted in snake_case and camelCase.
extension JSONReader {
    /// Reads a request's body and throws all findings at once. U+0000, lone surrogates and repeated names are findings in the fields that are
    /// read. `body` must be pure: it may run twice.
    public static func read<Value>(
        requestBody bytes: [UInt8], _ body: (JSONReader) throws(JSONFinding) -> Value
    ) throws(JSONFindings) -> Value {
        try read(
            parsing: bytes, flaws: .rejectedWhereRead, spelling: .snakeOrCamelCase, limit: maximumFindings,
            maximumDepth: maximumRequestDepth, body)
    }

    /// The most containers inside each other in a body. It is less than can be read (`JSONCursor.maximumDepth`), because free JSON of a body, such as a
    /// profile or a character card, is later read inside of other objects: in answers of the database and of the gateway, and in exports.
    public static let maximumRequestDepth = 120

    /// More would not help to mend the body.
    private static let maximumFindings = 50
}

/// The client's error for a rejected body.
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
