import CoachCore
import Foundation
import HTTPTypes

/// Names a request for logs, answers and support.
enum RequestIdentifier {
    /// A valid incoming `X-Request-ID` or `X-Correlation-ID` (1–128 printable ASCII characters) is kept; anything else is replaced.
    static func choose(_ headers: HTTPFields) -> String {
        for name in [HTTPField.Name.requestID, .correlationID] {
            if let value = headers[name], isValid(value) { return value }
        }
        return UUID.random().canonicalText
    }

    private static func isValid(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

extension HTTPField.Name {
    /// The names that HTTPTypes does not know. Literals that are valid tokens: the initialiser cannot fail for them.
    private static func custom(_ name: String) -> Self { Self(name) ?? .userAgent }

    static let requestID = custom("X-Request-ID")
    static let correlationID = custom("X-Correlation-ID")
    static let apiVersion = custom("X-API-Version")
    static let rateLimit = custom("X-RateLimit-Limit")
    static let rateRemaining = custom("X-RateLimit-Remaining")
    static let rateReset = custom("X-RateLimit-Reset")
    static let idempotencyKey = custom("Idempotency-Key")
    static let lastEventID = custom("Last-Event-ID")
    static let accelBuffering = custom("X-Accel-Buffering")
}
