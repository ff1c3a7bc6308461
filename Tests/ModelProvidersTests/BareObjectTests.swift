import TestSupport
import Testing

@testable import ModelProviders

@Suite("An object that stands bare in a stream")
struct BareObjectTests {
    /// The objects that the lines complete.
    private func objects(_ lines: [String]) -> [String] {
        var bare = BareObject()
        return lines.compactMap { line in Array(line.utf8).withUnsafeBytes { bare.take($0) } }.map { text($0) }
    }

    @Test("is complete with its line, or with the line that begins with its last brace")
    func lines() {
        let pretty = ["{", "  \"error\": {", "    \"code\": 2", "  }", "}"]
        #expect(objects(["x: y", #"{"error":1}"#] + pretty + ["x: y"]) == [#"{"error":1}"#, #"{  "error": {    "code": 2  }}"#])
    }

    @Test("is none without its end, and its memory is bounded")
    func bound() {
        let long = String(repeating: "a", count: 9_000)
        #expect(objects([#"{"a":"#, long, "}"]) == [#"{"a":}"#])
        #expect(objects(["{\(long)}", #"{"a":1"#]).isEmpty)
    }
}
