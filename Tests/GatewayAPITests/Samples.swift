import Foundation
import GatewayAPI
import JSON

/// Ids with every hexadecimal digit, made from upper case, so that tests show that the encoding is lower case.
enum Samples {
    static let turn = UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF")!
    static let conversation = UUID(uuidString: "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA")!
    static let user = UUID(uuidString: "BBBBBBBB-BBBB-4BBB-8BBB-BBBBBBBBBBBB")!
    static let message = UUID(uuidString: "CCCCCCCC-CCCC-4CCC-8CCC-CCCCCCCCCCCC")!

    static let noon = Timestamp(millisecondsSince1970: 1_772_366_400_005)

    static let start = StreamStart(
        turnID: turn, conversationID: conversation, userMessageID: user, messageID: message, domain: "career_coaching",
        domainConfidence: 0.875, personaID: nil, model: "coach-1", disclosure: .init(text: "I am an AI.", version: "3"), requestID: "r-1")
    static let safety = StreamSafety(
        severity: .acute, tier: 3, categories: ["suicide", "self_harm"],
        resources: [
            SafetyResource(name: "988", phone: "988", sms: "988", url: "https://988lifeline.org", hours: "24/7", country: "US"),
            SafetyResource(name: "Find a Helpline", phone: nil, sms: nil, url: "https://findahelpline.com", hours: nil, country: nil),
        ], message: "You matter.")
    static let usage = StreamUsage(
        model: "coach-1", provider: "simulator", inputTokens: 120, cachedInputTokens: 0, outputTokens: 9,
        costUSD: MoneyText.format(nanodollars: 123_000), estimated: false)
    static let unpriced = StreamUsage(
        model: "m", provider: "p", inputTokens: nil, cachedInputTokens: nil, outputTokens: nil, costUSD: nil, estimated: true)
    static let done = StreamDone(finishReason: .stopped, messageID: message)
    static let failure = StreamFailure(
        code: .providersUnavailable, message: "no provider answered", userMessage: "Coach is taking a moment.", action: .retry,
        retryable: true, retryAfter: 2, partial: true, keptBytes: 17)

    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
