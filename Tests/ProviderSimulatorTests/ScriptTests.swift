import JSON
import Testing

@testable import ProviderSimulator

@Suite("Scripts: JSON form, embedded form, selection")
struct ScriptTests {
    @Test("every field is encoded and decoded")
    func roundTrip() throws {
        let json = """
            {"model":"sim-a","empty":false,"tokens":["a","b"],"text":"t","words":3,"unicode":true,"first_token_ms":1.5,"pace_ms":2,
            "jitter_ms":3,"seed":4,"stall_after_tokens":5,"stall_ms":6,"finish_reason":"length","hang":false,"drop":false,
            "http_error":{"status":429,"code":"c","type":"t","message":"m","retry_after":1.5,"body":"b"},"error_after_tokens":7,
            "error":{"type":"t","code":"c","message":"m"},"error_then_done":true,"cut_after_tokens":8,"cut":"reset",
            "cut_inside_frame":true,"no_done":true,"no_finish":true,"bytewise":true,"chunk_bytes":9,"tokens_per_write":10,
            "headers":{"x":"y"},"no_usage":true,"cached_tokens":11,"cache_write_tokens":12,
            "usage":{"prompt_tokens":1,"completion_tokens":2,"cached_tokens":3,"reasoning_tokens":4}}
            """
        let script = try Script(json: json.utf8)
        #expect(try Script(json: script.json.utf8) == script)
        func names(_ json: String) throws -> [String]? { try JSONValue(parsing: Array(json.utf8)).members?.map(\.key).sorted() }
        #expect(try names(script.json) == names(json))
    }

    @Test(
        "an invalid script is an error that names the field",
        arguments: [
            (#"{"txet":"x"}"#, "txet"), (#"{"pace_ms":"fast"}"#, "pace_ms"), (#"{"words":-1}"#, "words"),
            (#"{"chunk_bytes":0}"#, "chunk_bytes"),
            (#"{"http_error":{"status":200}}"#, "http_error.status"), (#"{"http_error":{"status":500,"retry":1}}"#, "retry"),
            (#"{"http_error":{}}"#, "status"), (#"{"cut":"gently"}"#, "cut"), (#"{"usage":{"tokens":1}}"#, "tokens"), ("[1]", "object"),
            ("{", "JSON"),
            (#"{"stall_ms":1e9}"#, "stall_ms"),
        ])
    func refused(json: String, named: String) {
        let error = #expect(throws: ScriptError.self) { try Script(json: json.utf8) }
        #expect(error?.description.contains(named) == true)
    }

    @Test("an embedded script is found anywhere in a text, even if its strings contain brackets and braces")
    func embedded() throws {
        var script = Script()
        script.text = #"a ]] } { " \ and [[sim {}]] more"#
        let text = "<data>Hello [[sim \(script.json)]] and [[sim{\"words\":2}]] bye</data>"
        let found = try Script.embedded(in: text)
        #expect(found.count == 2)
        #expect(found.first == script)
        #expect(found.last?.words == 2)
        #expect(Script.removingEmbedded(from: text) == "<data>Hello  and  bye</data>")
    }

    @Test(
        "text that only resembles an embedded script is text",
        arguments: ["[[sim", "[[sim ]]", "[[sim {]]", "[[simple]]", "[[sim {\"a\":1}", "]] [[sim {} ]]"])
    func resembling(text: String) throws {
        #expect(try Script.embedded(in: text).isEmpty)
        #expect(Script.removingEmbedded(from: text) == text)
    }

    @Test("header, message, queue and default have this precedence, and a script for another model stays queued")
    func choice() throws {
        func named(_ text: String, model: String? = nil) -> Script {
            var script = Script()
            script.text = text
            script.model = model
            return script
        }
        let queue = ScriptQueue(defaultScript: named("standing"))
        var request = ChatRequest(model: "sim-a", turns: [.init(role: "user", text: "hello")])
        try queue.enqueue([named("for b", model: "sim-b"), named("queued")])
        let embedded = ChatRequest(
            model: "sim-a", turns: [.init(role: "user", text: "[[sim \(named("embedded").json)]]"), .init(role: "assistant", text: "")])
        #expect(try queue.script(header: named("header").json, for: embedded).text == "header")
        #expect(try queue.script(header: named("header", model: "sim-b").json, for: embedded).text == "embedded")
        #expect(try queue.script(header: nil, for: request).text == "queued")
        #expect(try queue.script(header: nil, for: request).text == "standing")
        request.model = "sim-b"
        #expect(try queue.script(header: nil, for: request).text == "for b")
        queue.defaultScript = nil
        #expect(try queue.script(header: nil, for: request) == Script())
    }
}
