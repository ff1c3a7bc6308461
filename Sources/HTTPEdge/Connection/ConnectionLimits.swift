import NIOCore

/// The limits of one connection (CONTRACT §2; `Sources/GatewayAPI/README.md`, "Limits of a request").
struct ConnectionLimits: Sendable {
    /// All header names and values of a request and its target together; also trailers.
    var headBytes = 32 * 1024
    /// Header fields of a request, trailers included.
    var headFields = 200
    /// From the connection, and later from a head's first byte, until the head is whole.
    var head = TimeAmount.seconds(10)
    /// From a head until its body is whole.
    var body = TimeAmount.seconds(20)
    /// Between an answer and the next request.
    var idle = TimeAmount.seconds(75)
    /// Bytes of sizes, extensions and line ends around a chunked body's content: allowed for each piece of content, and in total beside those.
    /// Without this limit a size line could be endless: the decoder skips extensions and leading zeros of any length.
    var chunkOverheadPerPiece = 32
    var chunkOverhead = 8 * 1024
    /// The rest of a body that is still read after its request was answered, to keep the connection. With more to come it is closed.
    var drainedBody = 256 * 1024
    /// How long and how much the client may still send after the last answer before the connection is closed, so that it can read the answer
    /// (RFC 9112 §9.6).
    var linger = TimeAmount.seconds(2)
    var lingerBytes = 1024 * 1024
}
