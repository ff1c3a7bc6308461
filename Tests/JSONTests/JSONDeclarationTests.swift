import Foundation
import JSON
import Testing

@Suite("Declarations of readers")
struct JSONDeclarationTests {
    private enum Colour: String, CaseIterable { case red, green }

    private struct Size: JSONReadable, Equatable {
        var width: Int

        init(_ json: JSONReader) throws(JSONFinding) { width = try json.required("width", .integer(1...9)) }
    }

    private func member(_ name: String, _ declaration: JSONDeclaration, isRequired: Bool = false) -> JSONDeclaration.Member {
        .init(name, declaration, isRequired: isRequired)
    }

    @Test("every kind of field is recorded with its bounds, in the order of reading")
    func fields() {
        let declared = JSONDeclaration { (body: JSONReader) throws(JSONFinding) in
            _ = try body.required("name", .text(1...80))
            _ = try body.optional("title", as: String.self)
            _ = try body.optional("count", .integer(0...5))
            _ = try body.optional("number", as: Int64.self)
            _ = try body.optional("share", .number(0...1))
            _ = try body.required("flag", as: Bool.self)
            _ = try body.optional("colour", .choice) as Colour?
            _ = try body.optional("id", as: UUID.self)
            _ = try body.optional("at", as: Timestamp.self)
            _ = try body.optional("code", .parsed("a code", placeholder: 0) { Int($0) })
            _ = try body.optional("domain", .text(0...64, declaredAs: ["a", "b"]))
            _ = try body.optional("names", .list(1...3, .text(0...9)))
            _ = try body.optional("sizes", as: [Size].self)
            _ = try body.required("size", as: Size.self)
            _ = try body.optional("other", .object { (json) throws(JSONFinding) in try json.required("x", as: Int.self) })
            _ = try body.value("anything")
            _ = try body.object("map").names
        }
        let size = JSONDeclaration.object([member("width", .integer(1...9), isRequired: true)])
        #expect(
            declared
                == .object([
                    member("name", .text(1...80), isRequired: true), member("title", .text(0...Int.max)), member("count", .integer(0...5)),
                    member("number", .integer(nil)), member("share", .number), member("flag", .boolean, isRequired: true),
                    member("colour", .choice(["red", "green"])), member("id", .uuid), member("at", .time),
                    member("code", .parsed("a code")),
                    member("domain", .choice(["a", "b"])), member("names", .list(.text(0...9), 1...3)),
                    member("sizes", .list(size, 0...Int.max)), member("size", size, isRequired: true),
                    member("other", .object([member("x", .integer(nil), isRequired: true)])), member("anything", .any),
                    member("map", .object([]), isRequired: true),
                ]))
    }

    @Test("members of a patch are recorded, one that the reader itself misses is required, and findings do not end the run")
    func patches() {
        let declared = JSONDeclaration { (body: JSONReader) throws(JSONFinding) in
            if body.contains("title") { _ = try body.optional("title", .text(0...9)) }
            if try body.value("body") == nil { try body.report("body", .missing) }
            try body.report("title", .invalid("is never right"))
            try body.rejectUnknown()
            _ = try body.optional("last", as: Bool.self)
        }
        #expect(
            declared == .object([member("title", .text(0...9)), member("body", .any, isRequired: true), member("last", .boolean)]))
    }

    @Test("a value that is read twice has the bounds of the declaration that says something, and is required when one reading requires it")
    func twice() {
        let declared = JSONDeclaration { (body: JSONReader) throws(JSONFinding) in
            _ = try body.value("goals")
            _ = try body.optional("goals", .list(0...5, .text(1...9)))
            _ = try body.optional("name", .text(1...9))
            _ = try body.required("name", .text(1...9))
        }
        #expect(
            declared == .object([member("goals", .list(.text(1...9), 0...5)), member("name", .text(1...9), isRequired: true)]))
    }

    @Test("a field that reads the value itself says what it accepts")
    func own() {
        let field = JSONField<JSONValue> { (json) throws(JSONFinding) in
            if json.declares(.either([.text(1...9), .boolean])) { return .null }
            return json.value
        }
        let declared = JSONDeclaration { (body: JSONReader) throws(JSONFinding) in _ = try body.required("x", .list(0...2, field)) }
        #expect(declared == .object([member("x", .list(.either([.text(1...9), .boolean]), 0...2), isRequired: true)]))
    }
}
