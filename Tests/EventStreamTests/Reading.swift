import EventStream

/// Everything a parser says about a stream, in order.
enum Heard: Equatable {
    case event(ServerSentEvent)
    case aside(EventStreamAside)
}

/// Feeds the pieces one by one and ends the stream.
func read(_ pieces: [[UInt8]], limit: Int = 4096, end: EventStreamParser.IncompleteEvent = .deliver) throws -> [Heard] {
    // Two closures may not write to one local at once by Swift's rule of exclusive access; a box may be shared.
    let box = Box()
    var parser = EventStreamParser(limit: limit)
    for piece in pieces {
        try parser.feed(piece, onAside: { box.heard.append(.aside($0)) }, { box.heard.append(.event($0)) })
    }
    try parser.finish(end, onAside: { box.heard.append(.aside($0)) }, { box.heard.append(.event($0)) })
    return box.heard
}

func read(_ text: String, limit: Int = 4096, end: EventStreamParser.IncompleteEvent = .deliver) throws -> [Heard] {
    try read([Array(text.utf8)], limit: limit, end: end)
}

func event(_ data: String, name: String? = nil, id: String? = nil, retry: Int? = nil) -> Heard {
    .event(ServerSentEvent(event: name, data: Array(data.utf8), id: id, retry: retry))
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

private final class Box {
    var heard: [Heard] = []
}

/// A small generator with a seed, so that a failure can be had again (SplitMix64).
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
