import Foundation

/// A client's event stream that a test reads event by event, so that it can disconnect at any event.
// SAFETY: used by one test, one step at a time.
final class StreamReader: @unchecked Sendable {
    let status: Int
    let headers: [String: String]
    private(set) var events: [Event] = []
    /// The number of comments received.
    private(set) var pings = 0
    /// The last `retry:` received, in milliseconds.
    private(set) var retry: Int?
    /// Whether the body has ended.
    private(set) var isOver = false
    /// The number of UTF-8 bytes of text after each event, with the time of its arrival.
    private(set) var arrivals: [(at: ContinuousClock.Instant, position: Int)] = []

    private let wire: Wire
    /// Heartbeats keep a stream open without a limit, so the test has its own.
    private let deadline = ContinuousClock.now + .seconds(40)
    private var waiting: [UInt8] = []

    private init(wire: Wire, status: Int, headers: [String: String]) {
        (self.wire, self.status, self.headers) = (wire, status, headers)
    }

    /// Sends a request and reads the head of its answer.
    static func open(_ request: [UInt8], port: Int, timeout: Int = 30) async throws -> StreamReader {
        try await Wire.run {
            let wire = try Wire(port: port, timeout: timeout)
            try wire.send(request)
            let (status, headers) = try wire.readHead()
            return StreamReader(wire: wire, status: status, headers: headers)
        }
    }

    var text: String { events.content }
    var bytes: [UInt8] { Array(text.utf8) }
    /// The `id:` of the last event.
    var position: Int { events.last?.id.flatMap { Int($0) } ?? 0 }
    var turnID: String { events.first { $0.type == "start" }?["turn_id"] ?? "" }
    /// The event that ended the stream.
    var end: Event? { events.last { $0.isLast } }
    var eventTypes: [String] { events.types }

    /// Reads until the condition holds, or to the end.
    @discardableResult
    func until(_ condition: @escaping @Sendable (StreamReader) -> Bool) async throws -> StreamReader {
        try await Wire.run { [self] in
            while !isOver, !condition(self) { try readMore() }
            return self
        }
    }

    /// Reads to the end, also of a broken connection.
    @discardableResult
    func toEnd() async throws -> StreamReader { try await until { _ in false } }

    /// Reads until the text has `count` bytes.
    @discardableResult
    func until(bytes count: Int) async throws -> StreamReader { try await until { $0.bytes.count >= count } }

    /// Resets the connection.
    func hangUp() { wire.reset() }

    /// Closes the connection normally.
    func close() { wire.close() }

    /// Closes the sending side, and can still be read.
    func closeForWriting() { wire.closeForWriting() }

    private func readMore() throws {
        guard ContinuousClock.now < deadline else { throw Wire.Failure(description: "40 s without an end, after \(eventTypes)") }
        let chunk: [UInt8]
        // A killed gateway ends the connection without the last chunk.
        do { chunk = try wire.readChunk() } catch let failure as Wire.Failure
            where failure.description.contains("closed")
            || failure.description.contains("reset")
        {
            isOver = true
            return
        }
        guard !chunk.isEmpty else {
            isOver = true
            return
        }
        waiting += chunk
        while let end = waiting.indices.dropLast().first(where: { waiting[$0] == 0x0A && waiting[$0 + 1] == 0x0A }) {
            take(String(decoding: waiting[..<end], as: UTF8.self))
            waiting.removeSubrange(...(end + 1))
        }
    }

    private func take(_ block: String) {
        if let event = Event(block: block, arrivedAfter: .zero) {
            events.append(event)
            if event.type == "token" { arrivals.append((.now, position)) }
        } else if block.hasPrefix(": ") {
            pings += 1
        } else if block.hasPrefix("retry: ") {
            retry = Int(block.dropFirst(7))
        }
    }
}

extension TestUser {
    /// Sends a message, and leaves reading to the test.
    func openStream(
        _ message: String, _ more: [String: Any] = [:], headers: [String: String] = [:], timeout: Int = 30
    ) async throws -> StreamReader {
        try await StreamReader.open(try request(message, more, headers: headers), port: browser.port, timeout: timeout)
    }

    /// The same user on another gateway, or through a proxy.
    func at(_ port: Int) -> TestUser { TestUser(id: id, browser: Browser(port: port, token: browser.token)) }

    /// Resumes a turn from a byte on.
    func follow(_ turn: String, after position: Int? = nil, timeout: Int = 30) async throws -> StreamReader {
        let headers = position.map { ["Last-Event-ID": "\($0)", "Accept": "text/event-stream"] } ?? [:]
        let head = browser.head("GET", "\(Browser.chatPath)/\(turn)", bodyCount: nil, headers: headers)
        return try await StreamReader.open(head, port: browser.port, timeout: timeout)
    }

    /// The complete response to a GET of a turn, with any status.
    func resume(_ turn: String, after position: String, headers: [String: String] = [:]) async throws -> Answer {
        try await browser.send(
            "GET", "\(Browser.chatPath)/\(turn)", headers: headers.merging(["Last-Event-ID": position]) { $1 })
    }

    func stop(_ turn: String) async throws -> Answer {
        try await browser.send("POST", "\(Browser.chatPath)/\(turn)/stop", body: [])
    }

    /// Retries a turn, and reads to the end.
    func retry(_ turn: String) async throws -> Answer {
        try await browser.send("POST", "\(Browser.chatPath)/\(turn)/retry", body: [])
    }

    /// The same, and leaves reading to the test.
    func openRetryStream(_ turn: String) async throws -> StreamReader {
        try await StreamReader.open(browser.head("POST", "\(Browser.chatPath)/\(turn)/retry", bodyCount: 0), port: browser.port)
    }

    private init(id: String, browser: Browser) {
        self.id = id
        self.browser = browser
    }
}
