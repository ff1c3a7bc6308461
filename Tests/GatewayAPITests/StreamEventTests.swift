import EventStream
import Foundation
import GatewayAPI
import JSON
import TestSupport
import Testing

struct StreamEventTests {
    static let golden: [(StreamEvent, Int, String)] = [
        (
            .start(Samples.start), 0,
            #"{"type":"start","done":false,"turn_id":"01234567-89ab-cdef-0123-456789abcdef","conversation_id":"aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa","user_message_id":"bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb","message_id":"cccccccc-cccc-4ccc-8ccc-cccccccccccc","domain":"career_coaching","domain_confidence":0.875,"persona_id":null,"model":"coach-1","disclosure":{"text":"I am an AI.","version":"3"},"request_id":"r-1"}"#
        ),
        (
            .safety(Samples.safety), 0,
            #"{"type":"safety","done":false,"severity":"acute","tier":3,"categories":["suicide","self_harm"],"resources":[{"name":"988","phone":"988","sms":"988","url":"https://988lifeline.org","hours":"24/7","country":"US"},{"name":"Find a Helpline","phone":null,"sms":null,"url":"https://findahelpline.com","hours":null,"country":null}],"message":"You matter."}"#
        ),
        (.token(content: "Hé\"\n\u{2028}"), 7, #"{"type":"token","done":false,"content":"Hé\"\n\u2028"}"#),
        (
            .usage(Samples.usage), 7,
            #"{"type":"usage","done":false,"model":"coach-1","provider":"simulator","input_tokens":120,"cached_input_tokens":0,"output_tokens":9,"cost_usd":"0.000123","estimated":false}"#
        ),
        (
            .usage(Samples.unpriced), 7,
            #"{"type":"usage","done":false,"model":"m","provider":"p","input_tokens":null,"cached_input_tokens":null,"output_tokens":null,"cost_usd":null,"estimated":true}"#
        ),
        (
            .done(Samples.done), 7,
            #"{"type":"done","done":true,"finish_reason":"stopped","message_id":"cccccccc-cccc-4ccc-8ccc-cccccccccccc"}"#
        ),
        (
            .error(Samples.failure), 17,
            #"{"type":"error","done":true,"code":"EXT_4001","message":"no provider answered","user_message":"Coach is taking a moment.","action":"retry","retryable":true,"retry_after":2,"partial":true,"kept_bytes":17}"#
        ),
    ]

    @Test("each event is an id line and one data line with the fields of the contract", arguments: golden)
    func encoding(_ event: StreamEvent, _ cursor: Int, _ json: String) {
        var output: [UInt8] = []
        event.encode(cursor: cursor, into: &output)
        #expect(Samples.text(output) == "id: \(cursor)\ndata: \(json)\n\n")
    }

    @Test("each event decodes to the encoded value", arguments: golden)
    func roundTrip(_ event: StreamEvent, _: Int, _ json: String) throws {
        #expect(try StreamEvent(json: Samples.bytes(json)) == event)
    }

    @Test("a start without domain, persona and disclosure encodes them as null")
    func nulls() throws {
        var start = Samples.start
        start.domain = nil
        start.domainConfidence = nil
        start.disclosure = nil
        let json = JSONWriter.encode { StreamEvent.start(start).write(to: &$0) }
        #expect(Samples.text(json).contains(#""domain":null,"domain_confidence":null,"persona_id":null"#))
        #expect(Samples.text(json).contains(#""disclosure":null"#))
        #expect(try StreamEvent(json: json) == .start(start))
    }

    @Test("only done and error end a stream")
    func last() {
        #expect(Self.golden.map(\.0.isLast) == [false, false, false, false, false, true, true])
    }

    @Test("a token encoded from bytes equals the encoded event", arguments: ["", "a", "é🫶🏽", "\u{85}\"\\\u{0}\r\n"])
    func tokenFromBytes(_ content: String) {
        var fast: [UInt8] = []
        Array(content.utf8).withUnsafeBufferPointer { StreamEvent.appendToken($0, cursor: 12, into: &fast) }
        var slow: [UInt8] = []
        StreamEvent.token(content: content).encode(cursor: 12, into: &slow)
        #expect(fast == slow)
    }

    @Test("encoder, parser and decoder reproduce a stream for every read size", arguments: [1, 3, 7, 64, 4096])
    func throughTheWire(_ size: Int) throws {
        var wire: [UInt8] = []
        for (event, cursor, _) in Self.golden {
            event.encode(cursor: cursor, into: &wire)
            EventStreamEncoder.appendPing(into: &wire)
        }
        var parser = EventStreamParser()
        var received: [StreamEvent?] = []
        var ids: [String?] = []
        for start in stride(from: 0, to: wire.count, by: size) {
            try parser.feed(wire[start..<min(start + size, wire.count)]) { event in
                received.append(try? StreamEvent(json: event.data))
                ids.append(event.id)
            }
        }
        #expect(received == Self.golden.map(\.0))
        #expect(ids == Self.golden.map { "\($0.1)" })
    }

    @Test("an unknown type decodes to nil; unknown members and enum values are not errors")
    func youngerServer() throws {
        #expect(try StreamEvent(json: Samples.bytes(#"{"type":"thought","done":false,"x":[1]}"#)) == nil)
        #expect(try StreamEvent(json: Samples.bytes(#"{"x":{"content":1},"content":"a","type":"token","y":null}"#)) == .token(content: "a"))
        let done = #"{"type":"done","finish_reason":"tired","message_id":"CCCCCCCC-CCCC-4CCC-8CCC-CCCCCCCCCCCC"}"#
        #expect(try StreamEvent(json: Samples.bytes(done)) == .done(StreamDone(finishReason: .stop, messageID: Samples.message)))
        let error =
            #"{"type":"error","code":"NEW_1","message":"m","user_message":"u","action":"dance","retryable":false,"partial":false}"#
        guard case .error(let failure) = try StreamEvent(json: Samples.bytes(error)) else {
            Issue.record("no error event")
            return
        }
        #expect(failure.code == .unforeseen && failure.action == .retry && failure.keptBytes == nil)
    }

    @Test("a missing or mistyped member is an error with its path")
    func malformed() {
        func error(_ json: String) -> JSONFinding? {
            do throws(JSONFinding) {
                _ = try StreamEvent(json: Samples.bytes(json))
                return nil
            } catch {
                return error
            }
        }
        #expect(error("[]") == JSONFinding("", .wrongType(expected: .object)))
        #expect(error("{}") == JSONFinding("type", .missing))
        #expect(error(#"{"type":1}"#) == JSONFinding("type", .wrongType(expected: .string)))
        #expect(error(#"{"type":"token","content":1}"#) == JSONFinding("content", .wrongType(expected: .string)))
        #expect(error(#"{"type":"done","finish_reason":"stop","message_id":"1"}"#) == JSONFinding("message_id", .invalid("must be a UUID")))
        let safety = #"{"type":"safety","severity":"acute","tier":3,"message":"m","resources":[{"phone":"1"}]}"#
        #expect(error(safety) == JSONFinding("resources[0].name", .missing))
        #expect(error(#"{"type":"tok"#) == JSONFinding("", .malformed(JSONError(.unexpectedEnd, offset: 12))))
        // A line truncated in the content by a lost connection.
        #expect(error(#"{"type":"token","content":"ab"#) == JSONFinding("", .malformed(JSONError(.unexpectedEnd, offset: 29))))
    }

    @Test("every prefix and many mutations of an event never crash the decoder")
    func fuzz() {
        var generator = SeededGenerator(state: 1)
        for (_, _, json) in Self.golden {
            let bytes = Samples.bytes(json)
            for index in bytes.indices {
                _ = try? StreamEvent(json: Array(bytes[..<index]))
                var mutated = bytes
                mutated[index] = UInt8.random(in: 0...255, using: &generator)
                _ = try? StreamEvent(json: mutated)
            }
        }
    }
}
