import Foundation
import GatewayAPI

@testable import CoachClient

/// One answer in the gateway's format, from any byte on.
struct Transcript {
    static let turn = id(1)
    static let conversation = id(2)

    /// Characters of one, two, three and four bytes, line separators that must be escaped, and quotes.
    static let pieces = ["Hé", "llo", " ", "世界", "\u{2028}", "🌊 ", "\"ok\"\n", "ü", "."]
    static let text = pieces.joined()

    static let start = StreamStart(
        turnID: turn, conversationID: conversation, userMessageID: id(3), messageID: id(4), domain: "mindset", domainConfidence: 0.8,
        personaID: nil, model: "sim", disclosure: nil, requestID: "r-1")
    static let card = StreamSafety(
        severity: .concern, tier: 2, categories: ["suicide"],
        resources: [SafetyResource(name: "988", phone: "988", sms: nil, url: nil, hours: nil, country: "US")], message: "You matter.")
    static let usage = StreamUsage(
        model: "sim", provider: "sim", inputTokens: 3, cachedInputTokens: 0, outputTokens: 9, costUSD: "0.000001", estimated: false)
    static let done = StreamDone(finishReason: .stop, messageID: id(4))

    /// The events that an app receives for the whole answer.
    static let events: [StreamEvent] =
        [.start(start), .safety(card)] + pieces.map { .token(content: $0) } + [.usage(usage), .done(done)]

    /// The bytes of the stream for a client that has `received` bytes of the answer.
    static func wire(after received: Int = 0) -> [UInt8] {
        var output: [UInt8] = Array(": ping\n\n".utf8)
        StreamEvent.start(start).encode(cursor: 0, into: &output)
        StreamEvent.safety(card).encode(cursor: 0, into: &output)
        var end = 0
        for piece in pieces {
            let begin = end
            end += piece.utf8.count
            guard end > received else { continue }
            // The contract moves a position inside a character back to its start.
            var rest = piece[...]
            while let first = rest.first, end - rest.utf8.count + first.utf8.count <= received { rest.removeFirst() }
            precondition(end - rest.utf8.count >= begin)
            StreamEvent.token(content: String(rest)).encode(cursor: end, into: &output)
        }
        StreamEvent.usage(usage).encode(cursor: end, into: &output)
        StreamEvent.done(done).encode(cursor: end, into: &output)
        return output
    }

    /// The stream up to the middle of the third token's event.
    static let beginning: [UInt8] = {
        let events = String(decoding: wire(), as: UTF8.self).components(separatedBy: "\n\n")
        let third = events.indices.filter { events[$0].contains(#""type":"token""#) }[2]
        return Array((events[..<third].joined(separator: "\n\n") + "\n\n" + events[third].prefix(20)).utf8)
    }()

    static func failure(_ code: ErrorCode = .providersUnavailable, retryable: Bool = true, partial: Bool = false, kept: Int? = nil)
        -> StreamFailure
    {
        StreamFailure(
            code: code, message: "it failed", userMessage: "Coach is taking a moment. Let's try again.", action: .retry,
            retryable: retryable,
            retryAfter: nil, partial: partial, keptBytes: kept)
    }

    static func id(_ number: UInt8) -> UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, number)) }
}

/// The text and the number of events that an app received.
struct Reception: Equatable {
    var text = ""
    var starts = 0
    var cards = 0
    var usages = 0
    var ends = 0

    static let whole = Reception(text: Transcript.text, starts: 1, cards: 1, usages: 1, ends: 1)

    mutating func take(_ event: StreamEvent) {
        switch event {
        case .start: starts += 1
        case .safety: cards += 1
        case .token(let content): text += content
        case .usage: usages += 1
        case .done: ends += 1
        case .error: ends += 100
        }
    }
}
