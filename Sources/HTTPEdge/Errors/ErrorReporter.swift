import CoachCore
import Logging

/// Maps errors to client errors and logs unexpected ones.
public struct ErrorReporter: Sendable {
    private let logger: Logger

    public init(logger: Logger) { self.logger = logger }

    /// The client error for an error of a port or of the HTTP server. An unexpected one is logged with its type and becomes `SYS_5000`.
    public func clientError(for error: any Error, requestID: String) -> GatewayError {
        if case StoreFault.unexpected(let reason)? = error as? StoreFault { report(reason, requestID) }
        if let known = GatewayError(known: error) { return known }
        report("\(type(of: error))", requestID)
        return GatewayError(.unforeseen, "unforeseen error")
    }

    /// Logs why a response whose head was sent is broken off.
    public func reportBreak(_ error: any Error, requestID: String) {
        let reason = clientError(for: error, requestID: requestID).message
        logger.warning("response broken off", metadata: ["request_id": "\(requestID)", "error": "\(reason)"])
    }

    private func report(_ reason: String, _ requestID: String) {
        logger.error("unforeseen error", metadata: ["request_id": "\(requestID)", "error": "\(reason)"])
    }
}
