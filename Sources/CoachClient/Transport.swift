import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How the client reaches the gateway. Exchange it to test an app without a network, or to use another HTTP library.
public struct Transport: Sendable {
    /// What came back for a request.
    public struct Response: Sendable {
        /// The HTTP status.
        public let status: Int
        /// Header fields, names in lower case.
        public let headers: [String: String]
        /// The bytes as they arrive. Ends by itself at the end of the body, throws when the connection is lost before;
        /// letting go of it, or cancelling the task that reads it, closes the connection.
        public let body: AsyncThrowingStream<[UInt8], any Error>

        /// Memberwise; names of `headers` must be in lower case.
        public init(status: Int, headers: [String: String], body: AsyncThrowingStream<[UInt8], any Error>) {
            self.status = status
            self.headers = headers
            self.body = body
        }
    }

    /// Sends a request and returns as soon as the response's head is there. Throws when there is no response, and when the
    /// calling task is cancelled.
    public let stream: @Sendable (URLRequest) async throws -> Response

    /// Wraps a function.
    public init(stream: @escaping @Sendable (URLRequest) async throws -> Response) {
        self.stream = stream
    }
}
