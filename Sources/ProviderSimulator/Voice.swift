import NIOCore

/// How one answer looks on the wire: a dialect's form for everything that a speech says.
protocol Voice: Sendable {
    var status: Int { get }
    var headers: [(name: String, value: String)] { get }
    func encode(_ utterance: Speech.Utterance, into buffer: inout ByteBuffer)
}

/// A speech with the voice that says it: all that a connection needs to play it.
struct Performance: Sendable {
    var beats: [Speech.Beat]
    var voice: any Voice
    /// Largest write in bytes; nil: a beat is one write.
    var chunkBytes: Int?
    var exchange: Exchange
    /// What the journal says when the speech was played to its end.
    var outcome: Exchange.Outcome
}

/// A dialect's error, or anything else that is known in full before it is sent.
struct FixedVoice: Voice {
    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    func encode(_ utterance: Speech.Utterance, into buffer: inout ByteBuffer) { buffer.writeBytes(body) }

    /// The acts that send it after a pause. What is said does not matter: there is one body.
    static func beats(after pause: Speech.Milliseconds) -> [Speech.Beat] {
        [Speech.Beat(after: pause, acts: [.head, .say(.opening), .end])]
    }
}
