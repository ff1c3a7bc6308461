import NIOCore

/// The limits of one connection (CONTRACT §2; `Sources/GatewayAPI/README.md`, "Limits of a request").
struct ConnectionLimits: Sendable {
    /// Bytes of all header names and values of a request and its target together, and of trailers.
    var headBytes = 32 * 1024
    /// Header fields of a request, trailers included.
    var headFields = 200
    /// Until a head is complete: for the first request from the connection's start, later from the head's first byte.
    var head = TimeAmount.seconds(10)
    /// From a head until its body is complete.
    var body = TimeAmount.seconds(20)
    /// Between an answer and the next request; also how long a client may take nothing of the answers that wait for it.
    var idle = TimeAmount.seconds(75)
    /// How often the connection looks whether a client has taken some of the answers that wait for it. One that stops is disconnected at
    /// most this much later than `idle` says.
    var progressCheck = TimeAmount.seconds(5)
    /// Bytes of sizes, extensions and line ends of a chunked body: `chunkOverheadPerPiece` for each decoded piece, plus `chunkOverhead` in
    /// total. Without this limit a size line could be endless, because the decoder skips extensions and leading zeros of any length.
    var chunkOverheadPerPiece = 32
    var chunkOverhead = 8 * 1024
    /// Bytes of a body that are still read after its request was answered, to keep the connection. With more left it is closed.
    var drainedBody = 256 * 1024
    /// How long, and how many bytes, input is discarded after the last answer before the connection is closed, so that the client can read
    /// the answer (RFC 9112 §9.6).
    var linger = TimeAmount.seconds(2)
    var lingerBytes = 1024 * 1024
}
