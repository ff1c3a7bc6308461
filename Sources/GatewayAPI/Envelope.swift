import EventStream

/// What every envelope says about its request.
public struct ResponseMeta: Sendable, Equatable {
    /// The version of the interface, also the header `X-API-Version`.
    public static let version = "1.0"

    /// The id in `X-Request-ID` and in every log line.
    public var requestID: String
    /// When the answer was made.
    public var timestamp: Timestamp

    /// Meta from its parts.
    public init(requestID: String, timestamp: Timestamp) {
        self.requestID = requestID
        self.timestamp = timestamp
    }
}

/// Stands beside `data` on lists.
public struct Pagination: Sendable, Equatable {
    /// Opaque; nil on the last page.
    public var nextCursor: String?
    /// Whether another page follows.
    public var hasNext: Bool
    /// On lists that take `updated_since`: what to send as that the next time, opaque. Nil on a page that was asked for by a cursor: the first
    /// page's holds for all of them.
    public var nextUpdatedSince: String?
    /// The `updated_since` of the request was of another database, or too old: this is the first page of the whole list, and the client drops
    /// what it has.
    public var reset: Bool

    /// The page after which `nextCursor` follows, or the last page.
    public init(nextCursor: String?) {
        self.init(nextCursor: nextCursor, hasNext: nextCursor != nil, nextUpdatedSince: nil)
    }

    /// A page of a list that takes `updated_since`. Of one that answers to it the next page follows with `nextUpdatedSince`.
    public init(nextCursor: String?, hasNext: Bool, nextUpdatedSince: String?, reset: Bool = false) {
        self.nextCursor = nextCursor
        self.hasNext = hasNext
        self.nextUpdatedSince = nextUpdatedSince
        self.reset = reset
    }
}

/// The one form of every JSON answer: `success, data, error, meta`, and `pagination` on lists.
public enum Envelope {
    /// `data` writes exactly one value.
    public static func success<Failure: Error>(
        meta: ResponseMeta, pagination: Pagination? = nil, data: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        try JSONWriter.encode { (writer) throws(Failure) in
            writer.beginObject()
            writer.member("success", true)
            writer.key(literal: "data")
            try data(&writer)
            writer.key(literal: "error")
            writer.null()
            if let pagination { write(pagination, to: &writer) }
            write(meta, to: &writer)
            writer.endObject()
        }
    }

    /// A refusal.
    public static func failure(_ error: ErrorBody, meta: ResponseMeta) -> [UInt8] {
        JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("success", false)
                writer.key(literal: "data")
                writer.null()
                writer.key(literal: "error")
                error.write(to: &writer)
                write(meta, to: &writer)
            }
        }
    }

    /// The same refusal as `application/problem+json` (RFC 9457), for clients that accept it.
    /// - Parameter title: the status' phrase, as "about:blank" asks for (RFC 9457 §4.2.1).
    public static func problem(_ error: ErrorBody, status: Int, title: String, meta: ResponseMeta) -> [UInt8] {
        JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("type", "about:blank")
                writer.member("title", title)
                writer.member("status", status)
                writer.member("detail", error.message)
                error.writeMembers(to: &writer)
                writer.member("request_id", meta.requestID)
                writer.member("timestamp", meta.timestamp)
            }
        }
    }

    private static func write(_ pagination: Pagination, to writer: inout JSONWriter) {
        writer.key(literal: "pagination")
        writer.object { writer in
            writer.member("next_cursor", pagination.nextCursor)
            writer.member("has_next", pagination.hasNext)
            if let next = pagination.nextUpdatedSince {
                writer.member("next_updated_since", next)
                writer.member("reset", pagination.reset)
            }
        }
    }

    private static func write(_ meta: ResponseMeta, to writer: inout JSONWriter) {
        writer.key(literal: "meta")
        writer.object { writer in
            writer.member("request_id", meta.requestID)
            writer.member("timestamp", meta.timestamp)
            writer.member("version", ResponseMeta.version)
        }
    }
}

/// An envelope as a client receives it.
public struct ReceivedEnvelope: Sendable, Equatable {
    /// `data` of a success, or the error of a refusal.
    public var result: Result<JSONValue, ErrorBody>
    /// On lists.
    public var pagination: Pagination?
    /// `meta.request_id`: what to quote to the operator.
    public var requestID: String?

    /// Reads an envelope. Unknown members are ignored.
    public init(json: [UInt8]) throws(WireError) {
        let fields = try WireFields(json: json)
        if try fields.bool("success") {
            result = .success(fields["data"] ?? .null)
        } else {
            result = .failure(try ErrorBody(try fields.object("error")))
        }
        if let page = try fields.optionalObject("pagination") {
            let cursor = try page.optionalString("next_cursor")
            pagination = Pagination(
                nextCursor: cursor, hasNext: try page.optionalBool("has_next") ?? (cursor != nil),
                nextUpdatedSince: try page.optionalString("next_updated_since"), reset: try page.optionalBool("reset") ?? false)
        }
        requestID = try fields.optionalObject("meta")?.optionalString("request_id")
    }
}
