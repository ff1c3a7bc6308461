import Foundation
import GatewayAPI
import JSON
import TestSupport
import Testing

struct ChatRequestTests {
    static let full = ChatRequest(
        message: "Hé\n\u{2028}", conversationID: Samples.conversation, personaID: Samples.user, shareToken: "s", domain: "mindset",
        clientMessageID: IdempotencyKey("k 1"), locale: "es-MX", country: "MX")

    /// The error for `json`; nil if it is accepted.
    static func refusal(_ json: String) -> RequestBodyError? { refusal(Samples.bytes(json)) }

    static func refusal(_ bytes: [UInt8]) -> RequestBodyError? {
        do throws(RequestBodyError) {
            _ = try ChatRequest.parse(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test("a request is encoded in snake_case without absent fields, and decoded to the same value")
    func roundTrip() throws {
        #expect(
            Samples.text(Self.full.encode())
                == #"{"message":"Hé\n\u2028","conversation_id":"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa","persona_id":"bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb","share_token":"s","domain":"mindset","client_message_id":"k 1","locale":"es-MX","country":"MX"}"#
        )
        #expect(try ChatRequest.parse(Self.full.encode()) == Self.full)
        #expect(Samples.text(ChatRequest(message: "a").encode()) == #"{"message":"a"}"#)
    }

    @Test("camelCase names are accepted, and both spellings together when their values agree")
    func camelCase() throws {
        let id = Samples.conversation.uuidString
        let json =
            #"{"message":"a","conversationId":"\#(id)","personaId":null,"shareToken":"s","clientMessageId":"k","extra":{"\u0000":1}}"#
        let request = try ChatRequest.parse(Samples.bytes(json))
        #expect(request.conversationID == Samples.conversation)
        #expect(request.shareToken == "s" && request.clientMessageID?.text == "k" && request.personaID == nil)
        #expect(Self.refusal(#"{"message":"a","conversation_id":"\#(id)","conversationId":"\#(id)"}"#) == nil)
        #expect(Self.refusal(#"{"message":"a","conversation_id":null,"conversationId":"\#(id)"}"#) == nil)
        #expect(
            Self.refusal(#"{"message":"a","conversation_id":"\#(id)","conversationId":"\#(Samples.user)"}"#)
                == .field("conversation_id", .contradictory))
    }

    @Test("a body that is not UTF-8 or not JSON is malformed, even if a field is invalid too")
    func malformed() {
        for json in ["", "{", "hello", #"{"message":"a"} x"#, #"{"message":"\ud800""#, #"{'message':'a'}"#, "\u{0}"] {
            #expect(Self.refusal(json)?.isMalformed == true, "\(json)")
        }
        let latin1 = Samples.bytes(#"{"message":""#) + [0xE9] + Samples.bytes(#""}"#)
        #expect(Self.refusal(latin1)?.isMalformed == true)
        #expect(Self.refusal(latin1)?.message.hasPrefix("the body is not UTF-8") == true)
        #expect(Self.refusal(#"{"message":"a","x":"# + String(repeating: "[", count: 100_000))?.isMalformed == true)
    }

    @Test("JSON that is not an object is rejected without a field", arguments: ["[]", "null", "1", "\"message\""])
    func notAnObject(_ json: String) {
        #expect(Self.refusal(json) == .notAnObject)
        #expect(RequestBodyError.notAnObject.isMalformed == false && RequestBodyError.notAnObject.field == nil)
    }

    @Test(
        "the error for an invalid field has its snake_case name",
        arguments: [
            (#"{}"#, RequestBodyError.field("message", .missing)),
            (#"{"message":null}"#, .field("message", .missing)),
            (#"{"message":1}"#, .field("message", .wrongType(expected: .string))),
            (#"{"message":["a"]}"#, .field("message", .wrongType(expected: .string))),
            (#"{"message":""}"#, .field("message", .empty)),
            (#"{"message":" \n\t\u00a0\u3000"}"#, .field("message", .empty)),
            (#"{"message":"a\u0000b"}"#, .field("message", .nulCharacter)),
            (#"{"message":"a\ud800"}"#, .field("message", .loneSurrogate)),
            (#"{"message":"\udc00"}"#, .field("message", .loneSurrogate)),
            (#"{"message":"a","message":"b"}"#, .field("message", .repeated)),
            (#"{"message":"a","conversation_id":"1"}"#, .field("conversation_id", .malformedID)),
            (#"{"message":"a","conversationId":""}"#, .field("conversation_id", .malformedID)),
            (#"{"message":"a","conversationId":7}"#, .field("conversation_id", .wrongType(expected: .string))),
            (#"{"message":"a","conversationId":"\u0000"}"#, .field("conversation_id", .nulCharacter)),
            (#"{"message":"a","persona_id":"{AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA}"}"#, .field("persona_id", .malformedID)),
            (#"{"message":"a","persona_id":"AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAA"}"#, .field("persona_id", .malformedID)),
            (#"{"message":"a","domain":true}"#, .field("domain", .wrongType(expected: .string))),
            (#"{"message":"a","share_token":{}}"#, .field("share_token", .wrongType(expected: .string))),
            (#"{"message":"a","client_message_id":""}"#, .field("client_message_id", .malformedKey)),
            (#"{"message":"a","client_message_id":"é"}"#, .field("client_message_id", .malformedKey)),
            (#"{"message":"a","locale":1}"#, .field("locale", .wrongType(expected: .string))),
        ])
    func fields(_ json: String, _ error: RequestBodyError) {
        #expect(Self.refusal(json) == error)
        #expect(error.field == Self.refusal(json)?.field)
    }

    @Test("8,000 scalars are accepted whatever their size in bytes; 8,001 are not")
    func length() {
        for character in ["a", "é", "🫶"] {
            let fitting = String(repeating: character, count: 8_000)
            #expect(Self.refusal(#"{"message":"\#(fitting)"}"#) == nil)
            #expect(Self.refusal(#"{"message":"\#(fitting)x"}"#) == .field("message", .tooLong(limit: 8000)))
        }
        // Each combining mark is a scalar, although all of them form one visible character.
        let marks = "e" + String(repeating: "\u{301}", count: 8_000)
        #expect(Self.refusal(#"{"message":"\#(marks)"}"#) == .field("message", .tooLong(limit: 8000)))
    }

    @Test("unknown fields with any content are ignored, and so are an invalid locale and country")
    func lenient() throws {
        let json =
            #"{"message":"a","x":"\ud800","y":{"message":"\u0000"},"y":1,"locale":"\#(String(repeating: "x", count: 99))","country":"USA"}"#
        #expect(try ChatRequest.parse(Samples.bytes(json)) == ChatRequest(message: "a"))
        #expect(try ChatRequest.parse(Samples.bytes(#"{"message":"a","country":"mx","locale":"en_US"}"#)).country == "MX")
    }

    @Test("an error message never contains the user's text")
    func messages() {
        for json in [#"{"message":"secret\u0000"}"#, #"{"message":"secret"#, #"{"message":"secret","domain":1}"#] {
            #expect(Self.refusal(json)?.message.contains("secret") == false)
        }
        #expect(Self.refusal(#"{"message":1}"#)?.message == "message must be of type string")
    }

    @Test("random bytes never crash the parser")
    func random() {
        var generator = SeededGenerator(state: 1)
        let bytes = Self.full.encode()
        for index in bytes.indices {
            for _ in 0..<4 {
                var mutated = bytes
                mutated[index] = UInt8.random(in: 0...255, using: &generator)
                _ = Self.refusal(mutated)
            }
        }
    }
}

struct IdempotencyKeyTests {
    @Test("a key is 1 to 128 printable ASCII characters")
    func validation() {
        #expect(IdempotencyKey("~ !") != nil)
        #expect(IdempotencyKey(String(repeating: "k", count: 128)) != nil)
        for text in ["", String(repeating: "k", count: 129), "a\n", "é", "\u{7F}", "\u{0}"] { #expect(IdempotencyKey(text) == nil) }
    }

    @Test("header and body may both have the key, but not different keys")
    func resolve() throws {
        let key = try #require(IdempotencyKey("k"))
        #expect(try IdempotencyKey.resolve(header: nil, body: nil) == nil)
        #expect(try IdempotencyKey.resolve(header: "k", body: nil) == key)
        #expect(try IdempotencyKey.resolve(header: nil, body: key) == key)
        #expect(try IdempotencyKey.resolve(header: "k", body: key) == key)
        #expect(throws: RequestBodyError.field("client_message_id", .contradictory)) {
            try IdempotencyKey.resolve(header: "other", body: key)
        }
        #expect(throws: RequestBodyError.field("idempotency_key", .malformedKey)) { try IdempotencyKey.resolve(header: "", body: key) }
    }
}
