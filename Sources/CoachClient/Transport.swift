import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends HTTP requests for the client. Replace it to test an app without a network, or to use another HTTP library.
public struct Transport: Sendable {
    /// A response whose body is still arriving.
    public struct Response: Sendable {
        /// The HTTP status.
        public let status: Int
        /// The header fields by name in lower case.
        public let headers: [String: String]
        /// The bytes as they arrive. Finishes at the end of the body and throws when the connection is lost before. Releasing it, or
        /// cancelling the task that reads it, closes the connection.
        public let body: AsyncThrowingStream<[UInt8], any Error>

        /// The names in `headers` must be in lower case.
        public init(status: Int, headers: [String: String], body: AsyncThrowingStream<[UInt8], any Error>) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    /// Sends a request and returns when the head of the response has arrived. Throws when there is no response and when the calling task
    /// is cancelled.
    public let stream: @Sendable (URLRequest) async throws -> Response

    /// Creates a transport from a function.
    public init(stream: @escaping @Sendable (URLRequest) async throws -> Response) {
        self.stream = stream
    }
}
