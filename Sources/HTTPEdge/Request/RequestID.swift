import CoachCore
import Foundation
import HTTPTypes
import JSON

/// Chooses the id of a request, which appears in logs and responses.
enum RequestIdentifier {
    /// The request's `X-Request-ID` or `X-Correlation-ID` if valid (1–128 printable ASCII characters), otherwise a new UUID.
    static func choose(_ headers: HTTPFields) -> String { choose { headers[$0] } }

    static func choose(_ value: (HTTPField.Name) -> String?) -> String {
        for name in [HTTPField.Name.requestID, .correlationID] {
            if let value = value(name), isValid(value) { return value }
        }
        return UUID.random().canonicalText
    }

    private static func isValid(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

extension HTTPField.Name {
    static let requestID = Self("X-Request-ID")!
    static let correlationID = Self("X-Correlation-ID")!
    static let apiVersion = Self("X-API-Version")!
    static let figuresAsOf = Self("X-Figures-As-Of")!
    static let figuresTrace = Self("X-Figures-Trace")!
    static let rateLimit = Self("X-RateLimit-Limit")!
    static let rateRemaining = Self("X-RateLimit-Remaining")!
    static let rateReset = Self("X-RateLimit-Reset")!
    static let rateLimitState = Self("RateLimit")!
    static let rateLimitPolicy = Self("RateLimit-Policy")!
    public static let idempotencyKey = Self("Idempotency-Key")!
    public static let lastEventID = Self("Last-Event-ID")!
    static let shouldRetry = Self("x-should-retry")!
    static let link = Self("Link")!
    static let accelBuffering = Self("X-Accel-Buffering")!
}
