/// A validation error: a value that does not match its declaration in a `JSONReader`, with its path and the problem. Never contains the
/// value, because findings are logged.
public struct JSONFinding: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    public enum Problem: Sendable, Hashable {
        /// The text is not JSON.
        case malformed(JSONError)
        /// Required, but absent or `null`.
        case missing
        /// A member that no declaration reads: most often a spelling mistake.
        case unknown
        /// Not of the expected JSON type.
        case wrongType(expected: JSONKind)
        /// Empty, or only white space.
        case empty
        /// More than `limit` Unicode scalars.
        case tooLong(limit: Int)
        /// Of the right type, but not valid; the text completes a sentence that begins with the path: `must be a UUID`.
        case invalid(String)
        /// A name of nothing that exists; the text completes the sentence as that of `invalid`.
        case unavailable(String)
        /// Contains U+0000.
        case nulCharacter
        /// Contains half of a surrogate pair.
        case loneSurrogate
        /// A number that is too large for a double.
        case numberTooLarge
        /// A member that occurs twice in one spelling.
        case repeated
        /// Present in two places (two spellings, or header and body) with different values.
        case contradictory
    }

    /// The path of the value, such as `entries[3].name`; empty for the whole text.
    public let path: String
    /// What is wrong.
    public let problem: Problem

    public init(_ path: String, _ problem: Problem) {
        self.path = path
        self.problem = problem
    }

    /// A sentence without the value: `entries[3].name must not be empty`.
    public var description: String { path.isEmpty ? "\(problem)" : "\(path) \(problem)" }
}

extension JSONFinding.Problem: CustomStringConvertible {
    /// The end of a sentence whose subject is the path.
    public var description: String {
        switch self {
        case .malformed(let error) where error.kind == .malformedUTF8: "is not UTF-8 (byte \(error.offset))"
        case .malformed(let error): "is not valid JSON (byte \(error.offset))"
        case .missing: "is required"
        case .unknown: "is unknown"
        case .wrongType(let kind): "must be of type \(kind)"
        case .empty: "must not be empty"
        case .tooLong(let limit): "must not be longer than \(limit) characters"
        case .invalid(let text), .unavailable(let text): text
        case .nulCharacter: "must not contain U+0000"
        case .loneSurrogate: "must not contain a lone surrogate"
        case .numberTooLarge: "must not be beyond the range of a double"
        case .repeated: "is given twice"
        case .contradictory: "is given twice with different values"
        }
    }

    /// The problem of a finding of `JSONDocument`.
    init(_ finding: JSONError) {
        self =
            switch finding.kind {
            case .nulCharacter: .nulCharacter
            case .duplicateKey: .repeated
            case .numberOutOfRange: .numberTooLarge
            default: .loneSurrogate
            }
    }
}
