import GatewayAPI
import JSON
import Testing

@Suite("Schemas of the wire types")
struct SchemaTests {
    private static let samples: [StreamEvent] = [
        .start(Samples.start), .safety(Samples.safety), .token(content: "a"), .usage(Samples.usage), .done(Samples.done),
        .error(Samples.failure),
    ]

    @Test("an event has the members of its schema in the same order, except absent ones", arguments: Self.samples)
    func events(event: StreamEvent) throws {
        let members = try #require(try JSONValue(parsing: JSONWriter.encode(event.write)).members)
        guard case .named(_, let schema) = StreamEvent.schema.form, case .oneOf(let alternatives, _) = schema.form else {
            Issue.record("no alternatives")
            return
        }
        let objects = alternatives.map { if case .named(_, let object) = $0.form { object } else { $0 } }
        let matching = objects.filter { object in
            guard case .object(let fields) = object.form, case .text(_, let types, _)? = fields.first?.schema.form else {
                return false
            }
            return types == [members.first?.value.string]
        }
        guard matching.count == 1, case .object(let fields)? = matching.first?.form else {
            Issue.record("\(matching.count) schemas for \(event)")
            return
        }
        let names = members.map(\.key)
        #expect(names == fields.map(\.name).filter(names.contains))
        #expect(Set(fields.filter(\.isRequired).map(\.name)).isSubset(of: names))
    }

    @Test("a reference is found at every depth")
    func references() {
        let inner = Schema.object([.init("a", .text)]).named("Inner")
        let outer = Schema.object([.init("list", .array(of: inner)), .init("one", .oneOf([inner.nullable, .any]))]).named("Outer")
        #expect(Set(outer.references.keys) == ["Inner", "Outer"])
    }

    private func json(_ schema: Schema) throws -> JSONValue { try JSONValue(parsing: JSONWriter.encode { schema.write(to: &$0) }) }

    @Test("every form of an event and of a change is a component, which its `type` names", arguments: ["StreamEvent", "SyncChange"])
    func discriminators(name: String) throws {
        let components = StreamEvent.schema.references.merging(SyncResource.schema.references) { first, _ in first }
        let document = try json(try #require(components[name]))
        #expect(document["discriminator"]?["propertyName"]?.string == "type")
        let mapping = try #require(document["discriminator"]?["mapping"]?.members)
        let references = try #require(document["oneOf"]?.elements).map { $0["$ref"]?.string }
        #expect(mapping.map(\.value.string) == references && mapping.count == 6)
        for (type, reference) in zip(mapping.map(\.key), references) {
            let component = try #require(components[String(reference?.split(separator: "/").last ?? "")])
            #expect(try json(component)["properties"]?["type"]?["enum"]?.elements == [.string(type)])
        }
    }

    @Test(
        "an integer that may need 64 bits says so",
        arguments: [
            (nil, true), (0...Int.max, true), (0...2_147_483_648, true), (-2_147_483_649...0, true), (1...2_147_483_647, false),
        ] as [(ClosedRange<Int>?, Bool)])
    func integers(range: ClosedRange<Int>?, isLong: Bool) throws {
        #expect(try json(Schema(.integer(range)))["format"]?.string == (isLong ? "int64" : nil))
        #expect(try json(Schema(.integer(range)).nullable)["format"]?.string == (isLong ? "int64" : nil))
    }
}
