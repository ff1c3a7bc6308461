import GatewayAPI
import JSON

/// An error in OpenAI's protocol: `{error: {message, type, param, code}}` (CONTRACT §7). `code` is one of that protocol where it has one, else ours.
public struct OpenAIError: Sendable {
    public var message: String
    public var type: String
    /// The request's field.
    public var param: String?
    public var code: String
    /// `details` of the envelope, crisis resources included.
    public var details: JSONValue?

    /// An error of a turn.
    public init(_ code: ErrorCode, _ message: String) {
        self.message = message
        (type, self.code) = Self.names(code)
    }

    /// The message ends with the crisis resources, because clients of this protocol show nothing else.
    public init(_ error: GatewayError) {
        // A turn of the user's that still runs is no quota: a client waits for its end.
        let code = error.limit == .userTurns ? ErrorCode.rateLimited : error.code
        self.init(code, error.safety.map { "\(error.message)\n\n\($0.text)" } ?? error.message)
        param = error.details.first { $0.0 == "field" }?.1.string
        if let code = error.openAICode { self.code = code }
        details = error.allDetails
    }

    /// What the protocol has for a status of ours: its clients know neither 412 nor 422.
    static func status(_ error: GatewayError) -> Int {
        if error.code == .personaOrDomainUnavailable { return 404 }
        let status = error.httpStatus
        return status == 412 || status == 422 ? 400 : status
    }

    /// The error object alone.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("message", message)
            writer.member("type", type)
            writer.member("param", param)
            writer.member("code", code)
            if let details {
                writer.key(literal: "details")
                details.write(to: &writer)
            }
        }
    }

    /// `{"error": {…}}`.
    public var encoded: [UInt8] {
        JSONWriter.encode { writer in
            writer.object { writer in
                writer.key(literal: "error")
                write(to: &writer)
            }
        }
    }

    private static func names(_ code: ErrorCode) -> (type: String, code: String) {
        switch code {
        case .tokenExpired, .unauthenticated: ("authentication_error", "invalid_api_key")
        case .forbidden, .consentRequired, .subscriptionRequired: ("permission_error", code.rawValue)
        case .quotaExhausted: ("insufficient_quota", "insufficient_quota")
        case .rateLimited: ("rate_limit_error", "rate_limit_exceeded")
        case .personaOrDomainUnavailable: ("invalid_request_error", "model_not_found")
        case .notFound, .turnInProgress, .preconditionFailed, .idempotencyConflict, .invalidInput, .methodNotAllowed, .tooLarge:
            ("invalid_request_error", code.rawValue)
        case .jobFailed, .providersUnavailable, .databaseUnavailable, .unforeseen, .overloaded: ("server_error", code.rawValue)
        }
    }
}

extension StreamSafety {
    /// The card as text, for clients that can show nothing else: the message, and a line for each resource.
    public var text: String {
        let lines = resources.map { resource in
            let contacts = [resource.phone, resource.sms, resource.url].compactMap { $0 }
            return contacts.isEmpty ? "• \(resource.name)" : "• \(resource.name): \(contacts.joined(separator: ", "))"
        }
        return ([message] + lines).joined(separator: "\n")
    }
}
