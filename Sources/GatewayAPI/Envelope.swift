import JSON

/// The `meta` member of every envelope.
public struct ResponseMeta: Sendable, Equatable {
    /// The version of the API, also sent in the header `X-API-Version`.
    public static let version = "1.0"

    /// The request's id, also in the header `X-Request-ID` and in every log line.
    public var requestID: String
    /// The time at which the response was created.
    public var timestamp: Timestamp
    /// Present on figures only.
    public var figures: FigureMeta?

    public init(requestID: String, timestamp: Timestamp, figures: FigureMeta? = nil) {
        self.requestID = requestID
        self.timestamp = timestamp
        self.figures = figures
    }
}

/// What `meta` tells about figures.
public struct FigureMeta: Sendable, Equatable {
    /// Everything that was booked before is included; nil: not known yet.
    public var asOf: Timestamp?
    /// Path and query of the list of calls or users behind the figures, to which the keys of a row are added as parameters; nil: there is none.
    public var trace: String?

    public init(asOf: Timestamp?, trace: String? = nil) {
        self.asOf = asOf
        self.trace = trace
    }
}

/// The `pagination` member of lists.
public struct Pagination: Sendable, Equatable {
    /// An opaque cursor for the next page; nil on the last page, and on pages of changes.
    public var nextCursor: String?
    /// On lists with `updated_since`: the opaque value of `updated_since` for the next request. Nil on pages that were requested with a
    /// cursor: the value of the first page applies to all pages.
    public var nextUpdatedSince: String?
    /// Whether there are later changes already, which `nextUpdatedSince` continues with.
    public var hasMore: Bool
    /// Whether the `updated_since` of the request is too old or from another database. The page is then the first one of the whole list, and
    /// the client drops what it stored.
    public var reset: Bool

    /// Creates the pagination of a list with `updated_since`. A page of changes is continued with `nextUpdatedSince`.
    public init(nextCursor: String?, nextUpdatedSince: String?, hasMore: Bool = false, reset: Bool = false) {
        self.nextCursor = nextCursor
        self.nextUpdatedSince = nextUpdatedSince
        self.hasMore = hasMore
        self.reset = reset
    }

    /// Whether `nextCursor` continues the list.
    public var hasNext: Bool { nextCursor != nil }
}

/// Encodes JSON responses: `success, data, error, meta`, and `pagination` on lists. Problem details (RFC 9457) are the alternative for errors.
public enum Envelope {
    /// Encodes a success. `data` must write exactly one value.
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

    /// Encodes an error.
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

    /// Encodes an error as `application/problem+json` (RFC 9457), for clients that accept it.
    /// - Parameter title: the reason phrase of the status, as the type "about:blank" requires (RFC 9457 §4.2.1).
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
                writer.member("has_more", pagination.hasMore)
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
            if let figures = meta.figures {
                writer.member("as_of", figures.asOf)
                if let trace = figures.trace { writer.member("trace", trace) }
            }
        }
    }
}

/// A decoded envelope, for clients.
public struct ReceivedEnvelope: Sendable, Equatable {
    /// `data` of a success, or `error` of a failure.
    public var result: Result<JSONValue, ErrorBody>
    /// Present on lists only.
    public var pagination: Pagination?
    /// `meta.request_id`, which operators need to find the request in the logs.
    public var requestID: String?

    /// Decodes an envelope. Unknown members are ignored.
    public init(json bytes: [UInt8]) throws(JSONFinding) {
        let json = try JSONReader(parsing: bytes)
        if try json.required("success") {
            result = .success(try json.value("data") ?? .null)
        } else {
            result = .failure(try json.required("error"))
        }
        if let page = try json.member("pagination") {
            pagination = Pagination(
                nextCursor: try page.optional("next_cursor"), nextUpdatedSince: try page.optional("next_updated_since"),
                hasMore: try page.optional("has_more") ?? false, reset: try page.optional("reset") ?? false)
        }
        requestID = try json.member("meta")?.optional("request_id")
    }
}
