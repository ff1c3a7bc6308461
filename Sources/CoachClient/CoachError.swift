import Foundation
import GatewayAPI

/// Why a request did not succeed, in words for the user and in values for the app.
public struct CoachError: LocalizedError, Sendable, Equatable {
    /// What happened.
    public enum Code: Sendable, Hashable {
        /// The gateway said no, or its stream ended with an error event.
        case gateway(ErrorCode)
        /// No connection could be made.
        case unreachable
        /// A connection was made and lost, or fell silent, and could not be taken up again.
        case connectionLost
        /// Something answered, but not in the gateway's language: a captive portal, a proxy, a version that is too new.
        case unreadable
        /// The app's own token provider failed.
        case noToken
    }

    /// What happened.
    public var code: Code
    /// For developers.
    public var message: String
    /// For the user: warm, first person.
    public var userMessage: String
    /// What the app can offer.
    public var action: ErrorAction
    /// Whether the same request may succeed later.
    public var retryable: Bool
    /// How long to wait before that, when the gateway said so.
    public var retryAfter: Duration?
    /// A part of the answer was said, and is kept by the gateway.
    public var partial = false
    /// UTF-8 bytes of the answer that are kept; an app that shows more cuts its text to them. nil: all that was received.
    public var keptBytes: Int?
    /// The turn, once it had begun: for `retry` and `resume`.
    public var turnID: UUID?
    /// What to quote to the operator.
    public var requestID: String?

    /// The user's text, as Apple's interfaces show it.
    public var errorDescription: String? { userMessage }
    /// The developer's text.
    public var failureReason: String? { message }
}

extension CoachError {
    static func unreachable(_ cause: any Error) -> CoachError {
        CoachError(
            code: .unreachable, message: "no connection to the gateway: \(cause)",
            userMessage: "I couldn't connect right now. Let's try again when you're back online.", action: .retry, retryable: true)
    }

    static func connectionLost(_ message: String) -> CoachError {
        CoachError(
            code: .connectionLost, message: message,
            userMessage: "I couldn't connect right now. Let's try again when you're back online.", action: .retry, retryable: true)
    }

    static func unreadable(_ message: String) -> CoachError {
        CoachError(
            code: .unreadable, message: message, userMessage: "Coach is taking a moment. Let's try again.", action: .retry, retryable: true)
    }

    static func noToken(_ cause: any Error) -> CoachError {
        CoachError(
            code: .noToken, message: "the token provider failed: \(cause)",
            userMessage: "I had trouble signing you in. Let's try that again.", action: .reauthenticate, retryable: false)
    }

    /// An argument that the gateway would refuse.
    static func invalid(_ message: String) -> CoachError {
        CoachError(
            code: .gateway(.invalidInput), message: message, userMessage: "Coach is taking a moment. Let's try again.", action: .fixInput,
            retryable: false)
    }
}
