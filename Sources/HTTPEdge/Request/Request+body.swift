import GatewayAPI
import HTTPTypes
import Hummingbird

extension Request {
    /// The default limit of a body (CONTRACT §2).
    public static let maximumBodyBytes = 256 * 1024

    /// Reads the complete body. Throws `VAL_3005` when it is too large; if `Content-Length` shows that, before reading.
    /// - Parameter limit: in bytes.
    public func collectBytes(upTo limit: Int = maximumBodyBytes) async throws -> [UInt8] {
        try checkLength(upTo: limit)
        let buffer = try await body.collect(upTo: limit)
        return Array(buffer.readableBytesView)
    }

    /// Throws `VAL_3005` when `Content-Length` shows that the body is too large.
    func checkLength(upTo limit: Int = maximumBodyBytes) throws(GatewayError) {
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit {
            throw GatewayError(.tooLarge, "the request's body is larger than \(limit / 1024) KiB")
        }
    }

    /// Reads and validates a JSON body; all findings at once become `VAL_3001`. Not inlined: the compiler (Swift 6.3.1) crashes where that is done in a
    /// nested asynchronous closure.
    @inline(never)
    public func read<Value>(_ body: JSONBody<Value>) async throws -> Value {
        let bytes = try await collectBytes()
        return try body.value(of: bytes)
    }
}
