import CoachCore
import JSON
import TestSupport
import Testing

@Suite("JSON Patch")
struct JSONPatchTests {
    @Test(
        "the difference of two values in the operations of RFC 6902",
        arguments: [
            ("1", "1.0", "[]"),
            (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, "[]"),
            (#"{"a":1}"#, #"{"a":2}"#, #"[{"op":"replace","path":"/a","value":2}]"#),
            (#"{"a/b":1,"c~d":2}"#, #"{"c~d":3}"#, #"[{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/c~0d","value":3}]"#),
            ("[1,2,3]", "[1,3]", #"[{"op":"remove","path":"/1"}]"#),
            ("[1,3]", "[1,2,2,3]", #"[{"op":"add","path":"/1","value":2},{"op":"add","path":"/2","value":2}]"#),
            (#"[{"a":1}]"#, #"[{"a":1,"b":null}]"#, #"[{"op":"add","path":"/0/b","value":null}]"#),
            (#"{"a":[]}"#, "7", #"[{"op":"replace","path":"","value":7}]"#),
        ])
    func examples(old: String, new: String, patch: String) throws {
        let operations = JSONPatch.difference(from: try parse(old), to: try parse(new))
        #expect(JSONValue.array(operations.map(\.json)) == (try parse(patch)))
    }

    @Test("applied to the first value it gives the second, for random trees")
    func roundTrip() throws {
        var generator = SeededGenerator(state: 7)
        for _ in 0..<2_000 {
            let (old, new) = (tree(3, &generator), tree(3, &generator))
            var value = old
            for operation in JSONPatch.difference(from: old, to: new) { value = try apply(operation, to: value) }
            #expect(JSONPatch.difference(from: value, to: new).isEmpty, "\(old) \(new)")
        }
    }

    private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    private func tree(_ depth: Int, _ generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth == 0 ? 2 : 4), using: &generator) {
        case 0: return .integer(Int64.random(in: 0..<3, using: &generator))
        case 1: return .string(["", "x"].randomElement(using: &generator) ?? "")
        case 2:
            let keys = ["a", "b", "/", "~"].filter { _ in Bool.random(using: &generator) }
            return .object(keys.map { JSONMember($0, tree(depth - 1, &generator)) })
        default: return .array((0..<Int.random(in: 0..<5, using: &generator)).map { _ in tree(depth - 1, &generator) })
        }
    }

    private struct NoSuchPath: Error {}

    private func apply(_ operation: JSONPatch.Operation, to value: JSONValue) throws -> JSONValue {
        let (path, new): (String, JSONValue?) =
            switch operation {
            case .add(let path, let new), .replace(let path, let new): (path, new)
            case .remove(let path): (path, nil)
            }
        let isAdding = if case .add = operation { true } else { false }
        let steps = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
            .map { String($0).replacing("~1", with: "/").replacing("~0", with: "~") }
        return try change(value, steps[...], new, isAdding)
    }

    private func change(_ value: JSONValue, _ steps: ArraySlice<String>, _ new: JSONValue?, _ isAdding: Bool) throws -> JSONValue {
        guard let step = steps.first else { return try #require(new) }
        let isLast = steps.count == 1
        switch value {
        case .object(var members):
            let index = members.firstIndex { $0.key == step }
            guard isLast else {
                let index = try #require(index)
                members[index].value = try change(members[index].value, steps.dropFirst(), new, isAdding)
                return .object(members)
            }
            if let index {
                if let new { members[index].value = new } else { members.remove(at: index) }
            } else {
                members.append(JSONMember(step, try #require(new)))
            }
            return .object(members)
        case .array(var elements):
            let index = try #require(Int(step))
            guard isLast else {
                try #require(elements.indices.contains(index))
                elements[index] = try change(elements[index], steps.dropFirst(), new, isAdding)
                return .array(elements)
            }
            if isAdding {
                try #require(index <= elements.count)
                elements.insert(try #require(new), at: index)
            } else {
                try #require(elements.indices.contains(index))
                if let new { elements[index] = new } else { elements.remove(at: index) }
            }
            return .array(elements)
        default: throw NoSuchPath()
        }
    }
}
