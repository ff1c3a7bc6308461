import JSON

/// The `error` member of an envelope.
public struct ErrorBody: Error, Sendable, Equatable {
    /// A stable code for programs.
    public var code: ErrorCode
    /// A description for developers.
    public var message: String
    /// A text to show to the user: warm, first person.
    public var userMessage: String
    /// What a client can do.
    public var action: ErrorAction
    /// Seconds to wait before a retry; nil when waiting does not help.
    public var retryAfter: Int?
    /// An object with more information for programs, such as `field`, `limit` or `safety`.
    public var details: JSONValue?

    public init(
        code: ErrorCode, message: String, userMessage: String, action: ErrorAction, retryAfter: Int? = nil, details: JSONValue? = nil
    ) {
        self.code = code
        self.message = message
        self.userMessage = userMessage
        self.action = action
        self.retryAfter = retryAfter
        self.details = details
    }
}

extension ErrorBody {
    /// Writes the error as a JSON object.
    public func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    /// Writes only the members, for an object that has further ones.
    func writeMembers(to writer: inout JSONWriter) {
        writer.member("code", code.rawValue)
        writer.member("message", message)
        writer.member("user_message", userMessage)
        writer.member("action", action.rawValue)
        writer.member("retry_after", retryAfter)
        writer.key(literal: "details")
        (details ?? .null).write(to: &writer)
    }
}

extension ErrorBody: JSONReadable {
    /// An unknown code or action, which a newer server may send, is not an error.
    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            code: ErrorCode(rawValue: try json.required("code")) ?? .unforeseen,
            message: try json.required("message"),
            userMessage: try json.optional("user_message") ?? "",
            action: try json.optional("action", as: String.self).flatMap(ErrorAction.init) ?? .retry,
            retryAfter: try json.optional("retry_after"),
            details: try json.value("details"))
    }
}
