import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import NIOHTTP1

extension GatewayError {
    /// The answer in the format that the client accepts.
    func response(format: ErrorFormat, requestID: String) -> Response {
        let (status, fields, bytes) = rendered(format: format, requestID: requestID)
        return Response(status: status, headers: fields, body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// Status, headers and body of `response`.
    func rendered(format: ErrorFormat, requestID: String) -> (status: HTTPResponse.Status, fields: HTTPFields, body: [UInt8]) {
        let row = ErrorMapping.row(code)
        let code = format == .openAI ? OpenAIError.status(self) : httpStatus
        // The phrase is RFC 9457's `title`, too.
        let status = HTTPResponse.Status(code: code, reasonPhrase: HTTPResponseStatus(statusCode: code).reasonPhrase)
        let meta = ResponseMeta(requestID: requestID, timestamp: .now)
        // As of other answers: an error can have a user's crisis resources, and caches may keep a 404 or 405 unasked (RFC 9110 §15.1).
        var fields: HTTPFields = [.cacheControl: "no-store"]
        write(to: &fields, status: code)
        // RFC 9110 §11.6.1.
        if code == 401 { fields[.wwwAuthenticate] = "Bearer" }
        let bytes: [UInt8]
        switch format {
        case .envelope:
            fields[.contentType] = Response.jsonType
            bytes = Envelope.failure(body(row), meta: meta)
        case .problem:
            fields[.contentType] = "application/problem+json; charset=utf-8"
            bytes = Envelope.problem(body(row), status: status.code, title: status.reasonPhrase, meta: meta)
        case .eventStream:
            fields.writeEventStream()
            bytes = events(row)
        case .openAI:
            fields[.contentType] = Response.jsonType
            // A client of that protocol repeats every 429 and 5xx unless it is told not to.
            if !isRepeatable { fields[.shouldRetry] = "false" }
            bytes = OpenAIError(self).encoded
        }
        return (status, fields, bytes)
    }

    /// Writes the header fields of its answer, whatever the body is: `Retry-After`, the limit of a caller who was rejected by it, and its own.
    public func write(to fields: inout HTTPFields, status: Int) {
        for (name, value) in headers { if let name = HTTPField.Name(name) { fields[name] = value } }
        if let seconds = retryAfterHeader(status: status) { fields[.retryAfter] = String(seconds) }
        rate?.write(to: &fields)
    }

    private func body(_ row: ErrorMapping.Row) -> ErrorBody {
        ErrorBody(
            code: code, message: message, userMessage: userMessage ?? row.userMessage, action: action ?? row.action, retryAfter: retryAfter,
            details: allDetails)
    }

    /// The details and the crisis resources; nil without any.
    var allDetails: JSONValue? {
        var members = details.map { JSONMember($0.0, $0.1) }
        if let safety, let json = try? JSONValue(parsing: JSONWriter.encode(safety.write)) { members.append(JSONMember("safety", json)) }
        return members.isEmpty ? nil : .object(members)
    }

    /// Whether the same request may succeed later, and does not begin a second turn.
    private var isRepeatable: Bool { !hasBegunTurn && (limit == .userTurns || (action ?? ErrorMapping.row(code).action).isRetryable) }

    /// The `safety` event, when there are resources, and the `error` event.
    private func events(_ row: ErrorMapping.Row) -> [UInt8] {
        var bytes: [UInt8] = []
        if let safety { StreamEvent.safety(safety).encode(cursor: 0, into: &bytes) }
        StreamEvent.error(failure(row)).encode(cursor: 0, into: &bytes)
        return bytes
    }

    private func failure(_ row: ErrorMapping.Row) -> StreamFailure {
        StreamFailure(
            code: code, message: message, userMessage: userMessage ?? row.userMessage, action: action ?? row.action,
            retryable: (action ?? row.action).isRetryable, retryAfter: retryAfter, partial: false, keptBytes: nil)
    }

    /// 429 and 503 always have `Retry-After`.
    private func retryAfterHeader(status: Int) -> Int? { retryAfter ?? (status == 429 || status == 503 ? 1 : nil) }
}

extension ErrorAction {
    /// Whether the same request may succeed later without the user changing anything.
    var isRetryable: Bool { self == .retry || self == .wait }
}

extension RateLimit {
    /// Writes the rate-limit headers of an authenticated answer (CONTRACT §2), those of draft-ietf-httpapi-ratelimit-headers-10 included.
    func write(to fields: inout HTTPFields, now: Date = Date()) {
        fields[.rateLimit] = String(limit)
        fields[.rateRemaining] = String(remaining)
        fields[.rateReset] = String(resetAt)
        // The time is the database's; a clock that differs must make it neither negative nor longer than the window.
        let seconds = min(60, max(0, resetAt - Int(now.timeIntervalSince1970)))
        fields[.rateLimitPolicy] = "\"user\";q=\(limit);w=60"
        fields[.rateLimitState] = "\"user\";r=\(remaining);t=\(seconds)"
    }
}

extension HTTPFields {
    /// Writes the headers of an event stream, which no proxy may buffer or change.
    public mutating func writeEventStream() {
        self[.contentType] = "text/event-stream; charset=utf-8"
        self[.cacheControl] = "no-cache, no-transform"
        self[.accelBuffering] = "no"
    }
}
