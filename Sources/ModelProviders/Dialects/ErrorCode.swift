import JSON
import TokenRelay

/// What an error response or an error frame says about the next step.
package struct ProviderError: Equatable {
    package enum Kind: Equatable, Sendable {
        /// The error means what the status says.
        case other
        /// The account has no money left: neither a repetition nor a pause helps.
        case money
        /// The key is wrong, so no request can be made with it.
        case key
        /// The key has no right to this request, perhaps only for this model.
        case access
        /// The provider does not know the model, or not any more.
        case model
        /// The key, or the account, has sent too many requests.
        case rateLimit
        /// The provider has failed, and may answer a repetition.
        case temporary
        /// The request has an error. Counts in answers only, because responses say this with their status.
        case badRequest
        /// The provider's moderation rejects the prompt, whatever the status.
        case moderation
    }

    /// The provider's own code, which may be logged.
    var code: String?
    var kind = Kind.other
    /// Whether the provider bills the prompt despite the error.
    var isBilled = false
    /// The pause that the error names in its body.
    var retryAfter: Duration?
}

/// Codes of error objects. The message may quote the prompt or a piece of the key, so it never reaches a log.
enum ErrorCode {
    /// In bytes; a longer text is no code.
    private static let longest = 64

    /// The first of these members that is a code.
    static func first(of members: [String], in error: JSONValue?) -> String? {
        members.lazy.compactMap { validated((error?[$0]).flatMap { $0.string ?? $0.integer.map { String($0) } }) }.first
    }

    /// The error object of a response's body: its member `error`, or the body itself, as some compatible servers send it. nil when the body is no object.
    static func object(in body: [UInt8]) -> JSONValue? {
        guard let root = (try? JSONDocument(parsing: body))?.value, root.members != nil else { return nil }
        return root["error"]?.members == nil ? root : root["error"]
    }

    /// Reads the next value of a frame as an error; nil for `null`.
    static func read(_ json: inout JSONCursor, as interpret: (JSONValue?) -> ProviderError) throws(JSONError) -> ProviderError? {
        guard try json.peek() != .null else { return nil }
        let raw = Array(try json.readRaw())
        return interpret((try? JSONDocument(parsing: raw))?.value)
    }

    /// The text when it is a code: letters, digits, `_`, `-` and `.` only. Else nil: it may quote content.
    static func validated(_ text: String?) -> String? {
        guard let text, (1...longest).contains(text.utf8.count) else { return nil }
        let isCode = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isCode ? text : nil
    }
}
