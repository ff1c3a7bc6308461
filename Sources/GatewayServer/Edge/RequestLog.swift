import Logging

/// One line and one count for each answer, also for those of no route.
struct RequestLog: Sendable {
    let logger: Logger

    /// - Parameter route: the pattern, never the path: a path can hold a share token.
    func record(requestID: String, method: String, route: String, status: Int, milliseconds: Int? = nil) {
        TurnMetrics.request(route: route, status: status)
        var metadata: Logger.Metadata = [
            "request_id": "\(requestID)", "method": "\(method)", "route": "\(route)", "status": .stringConvertible(status),
        ]
        if let milliseconds { metadata["ms"] = .stringConvertible(milliseconds) }
        logger.info("request", metadata: metadata)
    }
}
