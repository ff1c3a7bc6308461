import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import NIOCore

extension Response {
    /// A success response in the JSON envelope. `data` must write exactly one JSON value; without it `data` is null.
    public static func envelope(
        _ context: some EdgeContext, status: HTTPResponse.Status = .ok, pagination: Pagination? = nil, figures: FigureMeta? = nil,
        data: (inout JSONWriter) -> Void = { $0.null() }
    ) -> Response {
        let bytes = Envelope.success(
            meta: ResponseMeta(requestID: context.requestID, timestamp: .now, figures: figures), pagination: pagination, data: data)
        return .json(bytes, status: status)
    }

    /// A success response with one resource.
    public static func envelope(_ context: some EdgeContext, _ resource: some WireResource, figures: FigureMeta? = nil) -> Response {
        envelope(context, figures: figures) { resource.write(to: &$0) }
    }

    /// A JSON value without an envelope.
    public static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(bytes: bytes, type: jsonType, status: status)
    }

    static let jsonType = "application/json; charset=utf-8"

    /// A response with these bytes and `Cache-Control: no-store`.
    public init(bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
