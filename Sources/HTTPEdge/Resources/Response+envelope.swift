import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import NIOCore

extension Response {
    /// A success in the envelope. `data` writes exactly one value.
    public static func envelope(
        _ context: some EdgeContext, status: HTTPResponse.Status = .ok, pagination: Pagination? = nil, data: (inout JSONWriter) -> Void
    ) -> Response {
        let bytes = Envelope.success(
            meta: ResponseMeta(requestID: context.requestID, timestamp: .now), pagination: pagination, data: data)
        return Response(bytes: bytes, type: "application/json; charset=utf-8", status: status)
    }

    /// A response that no cache may store.
    public init(bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
