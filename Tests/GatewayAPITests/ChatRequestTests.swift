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
    static func finding(_ json: String) -> JSONFinding? { finding(Samples.bytes(json)) }

    static func finding(_ bytes: [UInt8]) -> JSONFinding? {
        do throws(JSONFindings) {
            _ = try ChatRequest.parse(bytes)
            return nil
        } catch {
            return error.first
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
        #expect(IdempotencyKey(" k 1 ") == IdempotencyKey("k 1") && IdempotencyKey("  ") == nil, "as a header's value")
    }

    @Test("camelCase names are accepted, and both spellings together when their values agree")
    func camelCase() throws {
        let id = Samples.conversation.uuidString
        let json =
            #"{"message":"a","conversationId":"\#(id)","personaId":null,"shareToken":"s","clientMessageId":"k","extra":{"\u0000":1}}"#
        let request = try ChatRequest.parse(Samples.bytes(json))
        #expect(request.conversationID == Samples.conversation)
        #expect(request.shareToken == "s" && request.clientMessageID?.text == "k" && request.personaID == nil)
        #expect(Self.finding(#"{"message":"a","conversation_id":"\#(id)","conversationId":"\#(id)"}"#) == nil)
        #expect(Self.finding(#"{"message":"a","conversation_id":null,"conversationId":"\#(id)"}"#) == nil)
        #expect(
            Self.finding(#"{"message":"a","conversation_id":"\#(id)","conversationId":"\#(Samples.user)"}"#)
                == JSONFinding("conversation_id", .contradictory))
    }

    @Test("a body that is not UTF-8 or not JSON is malformed, even if a field is invalid too")
    func malformed() {
        for json in ["", "{", "hello", #"{"message":"a"} x"#, #"{"message":"\ud800""#, #"{'message':'a'}"#, "\u{0}"] {
            #expect(Self.finding(json)?.isMalformed == true, "\(json)")
        }
        let latin1 = Samples.bytes(#"{"message":""#) + [0xE9] + Samples.bytes(#""}"#)
        #expect(Self.finding(latin1)?.isMalformed == true)
        #expect(Self.finding(latin1)?.requestMessage.hasPrefix("the body is not UTF-8") == true)
        #expect(Self.finding(#"{"message":"a","x":"# + String(repeating: "[", count: 100_000))?.isMalformed == true)
    }

    @Test("120 containers inside each other are a body, 121 are malformed: what is kept of one is read again inside of others")
    func depth() {
        func nested(_ count: Int) -> String {
            #"{"message":"a","x":"# + String(repeating: "[", count: count - 1) + String(repeating: "]", count: count - 1) + "}"
        }
        #expect(Self.finding(nested(120)) == nil)
        #expect(Self.finding(nested(121))?.isMalformed == true)
    }

    @Test("JSON that is not an object is rejected without a field", arguments: ["[]", "null", "1", "\"message\""])
    func notAnObject(_ json: String) {
        let notAnObject = JSONFinding("", .wrongType(expected: .object))
        #expect(Self.finding(json) == notAnObject)
        #expect(notAnObject.isMalformed == false && notAnObject.field == nil)
    }

    @Test(
        "the error for an invalid field has its snake_case name",
        arguments: [
            (#"{}"#, JSONFinding("message", .missing)),
            (#"{"message":null}"#, JSONFinding("message", .missing)),
            (#"{"message":1}"#, JSONFinding("message", .wrongType(expected: .string))),
            (#"{"message":["a"]}"#, JSONFinding("message", .wrongType(expected: .string))),
            (#"{"message":""}"#, JSONFinding("message", .empty)),
            (#"{"message":" \n\t\u00a0\u3000"}"#, JSONFinding("message", .empty)),
            (#"{"message":"a\u0000b"}"#, JSONFinding("message", .nulCharacter)),
            (#"{"message":"a\ud800"}"#, JSONFinding("message", .loneSurrogate)),
            (#"{"message":"\udc00"}"#, JSONFinding("message", .loneSurrogate)),
            (#"{"message":"a","message":"b"}"#, JSONFinding("message", .repeated)),
            (#"{"message":"a","conversation_id":"1"}"#, JSONFinding("conversation_id", .invalid("must be a UUID"))),
            (#"{"message":"a","conversationId":""}"#, JSONFinding("conversation_id", .invalid("must be a UUID"))),
            (#"{"message":"a","conversationId":7}"#, JSONFinding("conversation_id", .wrongType(expected: .string))),
            (#"{"message":"a","conversationId":"\u0000"}"#, JSONFinding("conversation_id", .nulCharacter)),
            (
                #"{"message":"a","persona_id":"{AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA}"}"#,
                JSONFinding("persona_id", .invalid("must be a UUID"))
            ),
            (#"{"message":"a","persona_id":"AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAA"}"#, JSONFinding("persona_id", .invalid("must be a UUID"))),
            (#"{"message":"a","domain":true}"#, JSONFinding("domain", .wrongType(expected: .string))),
            (#"{"message":"a","share_token":{}}"#, JSONFinding("share_token", .wrongType(expected: .string))),
            (
                #"{"message":"a","client_message_id":""}"#,
                JSONFinding("client_message_id", .invalid("must be 1 to 128 printable ASCII characters"))
            ),
            (
                #"{"message":"a","client_message_id":"é"}"#,
                JSONFinding("client_message_id", .invalid("must be 1 to 128 printable ASCII characters"))
            ),
            (#"{"message":"a","locale":1}"#, JSONFinding("locale", .wrongType(expected: .string))),
        ])
    func fields(_ json: String, _ error: JSONFinding) {
        #expect(Self.finding(json) == error)
        #expect(error.field == Self.finding(json)?.field)
    }

    @Test("8,000 scalars are accepted whatever their size in bytes; 8,001 are not")
    func length() {
        for character in ["a", "é", "🫶"] {
            let fitting = String(repeating: character, count: 8_000)
            #expect(Self.finding(#"{"message":"\#(fitting)"}"#) == nil)
            #expect(Self.finding(#"{"message":"\#(fitting)x"}"#) == JSONFinding("message", .tooLong(limit: 8000)))
        }
        // Each combining mark is a scalar, although all of them form one visible character.
        let marks = "e" + String(repeating: "\u{301}", count: 8_000)
        #expect(Self.finding(#"{"message":"\#(marks)"}"#) == JSONFinding("message", .tooLong(limit: 8000)))
    }

    @Test("unknown fields with any content are ignored, and so are an invalid locale and country")
    func lenient() throws {
        let json =
            #"{"message":"a","x":"\ud800","y":{"message":"\u0000"},"y":1,"locale":"\#(String(repeating: "x", count: 99))","country":"USA"}"#
        #expect(try ChatRequest.parse(Samples.bytes(json)) == ChatRequest(message: "a"))
        #expect(try ChatRequest.parse(Samples.bytes(#"{"message":"a","country":"mx","locale":"en_US"}"#)).country == "MX")
        #expect(try ChatRequest.parse(Samples.bytes(#"{"message":"a","country":"ß"}"#)).country == nil)
    }

    @Test("an error message never contains the user's text")
    func messages() {
        for json in [#"{"message":"secret\u0000"}"#, #"{"message":"secret"#, #"{"message":"secret","domain":1}"#] {
            #expect(Self.finding(json)?.requestMessage.contains("secret") == false)
        }
        #expect(Self.finding(#"{"message":1}"#)?.requestMessage == "message must be of type string")
    }

    @Test("random bytes never crash the parser")
    func random() {
        var generator = SeededGenerator(state: 1)
        let bytes = Self.full.encode()
        for index in bytes.indices {
            for _ in 0..<4 {
                var mutated = bytes
                mutated[index] = UInt8.random(in: 0...255, using: &generator)
                _ = Self.finding(mutated)
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
        #expect(throws: JSONFinding("client_message_id", .contradictory)) {
            try IdempotencyKey.resolve(header: "other", body: key)
        }
        #expect(throws: JSONFinding("idempotency_key", .invalid("must be 1 to 128 printable ASCII characters"))) {
            try IdempotencyKey.resolve(header: "", body: key)
        }
    }
}
