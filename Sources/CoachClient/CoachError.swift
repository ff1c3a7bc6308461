import Foundation
import GatewayAPI
import JSON

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Why a request failed, with a text for the user and values for the app.
public struct CoachError: LocalizedError, Sendable, Equatable {
    /// The kind of the failure.
    public enum Code: Sendable, Hashable {
        /// The gateway answered with an error, or its stream ended with an error event.
        case gateway(ErrorCode)
        /// No connection could be made.
        case unreachable
        /// A connection was lost or exceeded the idle timeout, and the stream could not be resumed.
        case connectionLost
        /// The response is not in the gateway's format, as from a captive portal, a proxy, or an incompatible version.
        case unreadable
        /// The app's `token` function failed.
        case noToken
        /// The answer to a change was lost, its repetition is stale, and the current version does not tell whether the change had its effect. The app
        /// shows that version (`details.current`, with `tag`) before the change is made again.
        case effectUnknown
    }

    /// The kind of the failure.
    public var code: Code
    /// A description for developers.
    public var message: String
    /// A text to show to the user: warm, first person.
    public var userMessage: String
    /// What the app should offer to the user.
    public var action: ErrorAction
    /// Whether the same request may succeed later.
    public var retryable: Bool
    /// The time to wait before a retry, if the gateway sent one.
    public var retryAfter: Duration?
    /// Whether the gateway keeps a part of the answer.
    public var partial = false
    /// The UTF-8 bytes of the answer that the gateway keeps; an app that shows more truncates its text to them. nil: everything received
    /// is kept.
    public var keptBytes: Int?
    /// The turn, for `retry` and `resume`; nil if none had started.
    public var turnID: UUID?
    /// The request's id, which operators need to find it in the logs.
    public var requestID: String?
    /// More information by the gateway, such as `field`, `findings`, `limit`, `current` and `confirmation`.
    public var details: JSONValue?
    /// The version of `details.current`, for an edit of it.
    public var tag: String?
    /// Whether the answer to an earlier attempt at this request was lost, so that it may have had its effect.
    var followsLostAnswer = false
    /// The gateway itself sent the error: it is no status of a proxy or of a captive portal.
    var isFromGateway = false

    /// `userMessage`, which Apple's frameworks show.
    public var errorDescription: String? { userMessage }
    /// `message`.
    public var failureReason: String? { message }
}

extension CoachError {
    /// Texts for the user where the gateway sent none. The gateway uses two of them, too: `signIn` and `takingAMoment`.
    enum UserMessage {
        static let offline = "I couldn't connect right now. Let's try again when you're back online."
        static let signIn = "I had trouble signing you in. Let's try that again."
        static let takingAMoment = "Coach is taking a moment. Let's try again."
        static let effectUnknown = "I couldn't tell whether that worked. Let me show you the latest."
    }

    static func unreachable(_ cause: any Error) -> CoachError {
        CoachError(
            code: .unreachable, message: "no connection to the gateway: \(line(cause))", userMessage: UserMessage.offline, action: .retry,
            retryable: true)
    }

    /// Foundation describes its errors with everything that it knows, over many lines.
    private static func line(_ cause: any Error) -> String {
        guard let cause = cause as? URLError else { return "\(cause)" }
        return "\(cause.localizedDescription) (\(cause.code.rawValue))"
    }

    static func connectionLost(_ message: String) -> CoachError {
        CoachError(code: .connectionLost, message: message, userMessage: UserMessage.offline, action: .retry, retryable: true)
    }

    static func unreadable(_ message: String) -> CoachError {
        CoachError(code: .unreadable, message: message, userMessage: UserMessage.takingAMoment, action: .retry, retryable: true)
    }

    static func noToken(_ cause: any Error) -> CoachError {
        CoachError(
            code: .noToken, message: "the token provider failed: \(line(cause))", userMessage: UserMessage.signIn,
            action: .reauthenticate, retryable: false)
    }

    /// - Parameter rejection: of the change's repetition, with the current version.
    static func effectUnknown(_ rejection: CoachError) -> CoachError {
        var error = rejection
        error.code = .effectUnknown
        error.message = "the answer was lost, and the current version does not tell whether the change had its effect"
        error.userMessage = UserMessage.effectUnknown
        error.action = .reload
        return error
    }

    /// The error for an argument that the gateway would reject.
    static func invalid(_ message: String) -> CoachError {
        CoachError(
            code: .gateway(.invalidInput), message: message, userMessage: UserMessage.takingAMoment, action: .fixInput, retryable: false)
    }
}
