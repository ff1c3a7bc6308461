import CoachCore

/// The wire format of a turn's stream, such as server-sent events of one API dialect. The relay decides when something is sent, the format
/// which bytes. Every method appends to `output`.
public protocol StreamFormat: Sendable {
    /// The most bytes of answer text in one write, at least 4. With the bytes that the format adds to them, it bounds the memory for a slow client.
    var pieceBytes: Int { get }
    /// The first events of the stream.
    func appendOpeningEvents(into output: inout [UInt8])
    /// A piece of the answer, of whole characters. `cursor`: the answer's bytes up to the end of this piece.
    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8])
    /// The last events. `keptBytes`: the length of the answer; `cursor`: the client's position, which may be beyond that length.
    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8])
    /// A heartbeat, sent when the stream has been silent for `StreamLimits.silence`.
    func appendHeartbeat(into output: inout [UInt8])
    /// The last event of a stream that is handed over: the client reconnects and resumes, here or on another instance.
    func appendRetry(into output: inout [UInt8])
}

extension StreamFormat {
    public static var usualPieceBytes: Int { 8 * 1024 }
    public var pieceBytes: Int { Self.usualPieceBytes }
}
