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
        guard case .named(_, let schema) = StreamEvent.schema.form, case .oneOf(let alternatives) = schema.form else {
            Issue.record("no alternatives")
            return
        }
        let matching = alternatives.filter { alternative in
            guard case .object(let fields) = alternative.form, case .text(_, let types, _)? = fields.first?.schema.form else {
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
}
