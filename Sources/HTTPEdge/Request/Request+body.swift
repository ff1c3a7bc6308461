import HTTPTypes
import Hummingbird

extension Request {
    /// The limit of a body (CONTRACT §2).
    static let maximumBodyBytes = 256 * 1024

    /// Reads the whole body. Throws `VAL_3005` when it is too large, before reading when its length is announced.
    public func collectBytes() async throws -> [UInt8] {
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > Self.maximumBodyBytes {
            throw GatewayError(.tooLarge, "the request's body is larger than 256 KiB")
        }
        let buffer = try await body.collect(upTo: Self.maximumBodyBytes)
        return Array(buffer.readableBytesView)
    }
}
