import CoreMetrics
import Logging

/// Writes one log line and increments one counter for each response, also for requests without a route.
struct RequestLog: Sendable {
    let logger: Logger

    var errors: ErrorReporter { ErrorReporter(logger: logger) }

    /// - Parameter route: the pattern, never the path, which may contain a secret such as a share token.
    func record(requestID: String, method: String, route: String, status: Int, milliseconds: Int? = nil) {
        Self.requests[Answer(route: route, status: status)].increment()
        var metadata: Logger.Metadata = [
            "request_id": "\(requestID)", "method": "\(method)", "route": "\(route)", "status": .stringConvertible(status),
        ]
        if let milliseconds { metadata["ms"] = .stringConvertible(milliseconds) }
        logger.info("request", metadata: metadata)
    }

    private struct Answer: Hashable {
        var route: String
        var status: Int
    }

    private static let requests = MetricHandles { (answer: Answer) in
        Counter(label: "coach_requests", dimensions: [("route", answer.route), ("status", "\(answer.status)")])
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    public var milliseconds: Int { Int(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000) }
}
