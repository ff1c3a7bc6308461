import CoachCore

/// The wire format in which clients receive a turn; the relay decides when something is sent, the format what. Every method appends to `output`.
public protocol StreamFormat: Sendable {
    /// The first events of the stream.
    func appendOpeningEvents(into output: inout [UInt8])
    /// A piece of the answer, whole characters; `cursor`: the answer's bytes so far, these included.
    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8])
    /// The last events; `keptBytes`: how long the answer is; `cursor`: where the client stands, which may be behind its end.
    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8])
    /// What keeps a silent line alive.
    func appendHeartbeat(into output: inout [UInt8])
    /// The event after which the client resumes, here or on another instance.
    func appendRetry(into output: inout [UInt8])
}
