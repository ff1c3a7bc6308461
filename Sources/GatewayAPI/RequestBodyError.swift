import JSON

/// Why a request body is rejected.
public enum RequestBodyError: Error, Sendable, Equatable {
    /// Not UTF-8 or not JSON: status 400.
    case notJSON(JSONError)
    /// JSON, but not an object: status 422.
    case notAnObject
    /// An invalid field, by its snake_case name: status 422.
    case field(String, Problem)

    /// What is wrong with a field.
    public enum Problem: Sendable, Equatable {
        /// Required, but absent or `null`.
        case missing
        /// Not of the expected JSON type.
        case wrongType(expected: JSONKind)
        /// Empty, or only white space.
        case empty
        /// More than `limit` Unicode scalars.
        case tooLong(limit: Int)
        /// Not a UUID in its canonical form.
        case malformedID
        /// Not 1–128 printable ASCII characters.
        case malformedKey
        /// Contains U+0000.
        case nulCharacter
        /// Contains half of a surrogate pair.
        case loneSurrogate
        /// Present twice in one spelling.
        case repeated
        /// Present in two places (two spellings, or header and body) with different values.
        case contradictory
    }

    /// Whether the body is not JSON (status 400); all other errors are 422.
    public var isMalformed: Bool {
        if case .notJSON = self { true } else { false }
    }

    /// The snake_case name for `details.field`; nil when the error concerns the whole body.
    public var field: String? {
        if case .field(let name, _) = self { name } else { nil }
    }

    /// A description for developers. Never contains content of the body, because it is logged.
    public var message: String {
        switch self {
        case .notJSON(let error) where error.kind == .malformedUTF8: "the body is not UTF-8 (byte \(error.offset))"
        case .notJSON(let error): "the body is not valid JSON (byte \(error.offset))"
        case .notAnObject: "the body must be a JSON object"
        case .field(let name, let problem): "\(name) \(problem.predicate)"
        }
    }
}

extension RequestBodyError.Problem {
    fileprivate var predicate: String {
        switch self {
        case .missing: "is required"
        case .wrongType(let kind): "must be of type \(kind)"
        case .empty: "must not be empty"
        case .tooLong(let limit): "must not be longer than \(limit) characters"
        case .malformedID: "must be a UUID"
        case .malformedKey: "must be 1 to 128 printable ASCII characters"
        case .nulCharacter: "must not contain U+0000"
        case .loneSurrogate: "must not contain a lone surrogate"
        case .repeated: "is given twice"
        case .contradictory: "is given twice with different values"
        }
    }
}
