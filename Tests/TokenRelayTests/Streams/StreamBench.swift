import CoachCore
import Glibc
import Reactor
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

/// A stream loop whose clients are connected by socket pairs.
final class StreamBench {
    let reactor: Reactor
    let streamLoop: StreamLoop

    init(_ limits: StreamLimits = StreamLimits()) throws {
        reactor = try Reactor(name: "streams")
        reactor.start()
        streamLoop = StreamLoop(reactor: reactor, limits: limits)
    }

    func subscribe(
        _ turn: LiveTurn, deliversAtEnd: Bool = false, isChunked: Bool = true, hangsUpFirst: Bool = false, limit: Int = 16
    ) throws -> StreamClient {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        let client = StreamClient(descriptor: pair[0], subscriber: Subscriber(deliversAtEnd: deliversAtEnd))
        #expect(turn.add(client.subscriber, limit: limit))
        if hangsUpFirst { client.hangUp() }
        streamLoop.open(
            StreamRequest(
                turn, subscriber: client.subscriber, from: Cursor(after: 0), format: PlainFormat(), descriptor: pair[1],
                isChunked: isChunked, onEnd: client.ends.finish))
        return client
    }
}

/// A client that decodes the chunked coding.
final class StreamClient {
    let subscriber: Subscriber
    let ends = Ending()
    private(set) var chunks = 0
    /// Whether the last chunk arrived.
    private(set) var isWhole = false
    private let descriptor: Int32
    private var isOpen = true
    private var raw: [UInt8] = []

    init(descriptor: Int32, subscriber: Subscriber) {
        self.descriptor = descriptor
        self.subscriber = subscriber
    }

    deinit { hangUp() }

    func hangUp() {
        if isOpen { close(descriptor) }
        isOpen = false
    }

    func sendNoMore() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Sends zero bytes, fewer if the stream ends before.
    func sendBytes(_ count: Int) {
        var left = count
        while left > 0 {
            let bytes = [UInt8](repeating: 0, count: min(left, 64 * 1024))
            let sent = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            guard sent > 0 else { return }
            left -= sent
        }
    }

    func end() async -> StreamResult { await ends.value() }

    /// How often `onEnd` was called.
    var endings: Int { ends.count }

    func read(until word: String) {
        var text = ""
        while !text.hasSuffix(word), receive(64 * 1024) { text += decoded() }
    }

    func readAll(pieces: Int = 64 * 1024) -> String {
        while receive(pieces) {}
        return decoded()
    }

    /// The body of a response without chunked coding.
    func readAllRaw() -> String {
        while receive(64 * 1024) {}
        return String(decoding: raw, as: UTF8.self)
    }

    private func receive(_ count: Int) -> Bool {
        var buffer = [UInt8](repeating: 0, count: count)
        let received = recv(descriptor, &buffer, count, 0)
        guard received > 0 else { return false }
        raw += buffer[..<received]
        return true
    }

    /// The content of the complete chunks received; the rest stays in `raw`.
    private func decoded() -> String {
        var text: [UInt8] = []
        var rest = raw[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")),
            let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), rest.count >= end - rest.startIndex + size + 4
        {
            text += rest[(end + 2)..<(end + 2 + size)]
            rest = rest[(end + 2 + size + 2)...]
            if size > 0 { chunks += 1 } else { isWhole = true }
        }
        raw = Array(rest)
        return String(decoding: text, as: UTF8.self)
    }
}

final class Ending: Sendable {
    private let state = Mutex<(end: StreamResult?, count: Int, waiter: CheckedContinuation<StreamResult, Never>?)>((nil, 0, nil))

    var count: Int { state.withLock { $0.count } }

    func finish(_ end: StreamResult) {
        state.withLock { state in
            state.end = end
            state.count += 1
            return state.waiter.take()
        }?.resume(returning: end)
    }

    func value() async -> StreamResult {
        await withCheckedContinuation { continuation in
            state.withLock { state -> StreamResult? in
                if state.end == nil { state.waiter = continuation }
                return state.end
            }.map { continuation.resume(returning: $0) }
        }
    }
}

struct PlainFormat: StreamFormat {
    func appendOpeningEvents(into output: inout [UInt8]) { output += "<".utf8 }
    func appendText(_ piece: UnsafeBufferPointer<UInt8>, cursor: Int, into output: inout [UInt8]) { output += piece }
    func appendTerminalEvents(_ ending: TurnEnding, keptBytes: Int, cursor: Int, into output: inout [UInt8]) { output += ">".utf8 }
    func appendHeartbeat(into output: inout [UInt8]) { output += ".".utf8 }
    func appendRetry(into output: inout [UInt8]) { output += "!".utf8 }
}

extension TurnEnding {
    static var sample: TurnEnding { TurnEnding(status: .complete, finishReason: .stop, bill: nil) }
}
