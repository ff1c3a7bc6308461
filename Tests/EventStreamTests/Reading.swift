import EventStream

/// Parses the pieces one by one, ends the stream, and returns all events in order.
func read(_ pieces: [[UInt8]], limit: Int = 4096) throws -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    var parser = EventStreamParser(limit: limit)
    for piece in pieces { try parser.feed(piece) { events.append($0) } }
    try parser.finish { events.append($0) }
    return events
}

func read(_ text: String, limit: Int = 4096) throws -> [ServerSentEvent] {
    try read([Array(text.utf8)], limit: limit)
}

func event(_ data: String, name: String? = nil, id: String? = nil, retry: Int? = nil) -> ServerSentEvent {
    ServerSentEvent(event: name, data: Array(data.utf8), id: id, retry: retry)
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

/// SplitMix64 with a fixed seed, so that a failure can be reproduced.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
