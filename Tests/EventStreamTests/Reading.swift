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
