import NIOCore

/// What one connection may take before it is answered or closed (CONTRACT §2; README, "Limits of a request").
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
    /// Bytes of sizes, extensions and line ends around a chunked body's content: for each piece of content that arrives, and in all besides.
    /// Without it a single size line could be endless: the decoder skips extensions and leading zeros of any length.
    var chunkOverheadPerPiece = 32
    var chunkOverhead = 8 * 1024
    /// The rest of a body that is read although its request was answered, for the sake of the connection. With more to come it is closed.
    var drainedBody = 256 * 1024
    /// After the last answer the client may go on sending for so long and so much before the connection is closed under it, so that it gets
    /// to read the answer (RFC 9112 §9.6).
    var linger = TimeAmount.seconds(2)
    var lingerBytes = 1024 * 1024
}
