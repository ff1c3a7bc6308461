import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import NIOCore

extension Response {
    /// A successful answer in the envelope; `data` writes exactly one value.
    static func envelope(
        _ context: GatewayContext, status: HTTPResponse.Status = .ok, pagination: Pagination? = nil, data: (inout JSONWriter) -> Void
    ) -> Response {
        let bytes = Envelope.success(
            meta: ResponseMeta(requestID: context.requestID, timestamp: .now), pagination: pagination, data: data)
        return Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
