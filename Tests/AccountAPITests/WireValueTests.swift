import CoachCore
import GatewayAPI
import Testing

/// Wire types do not import `CoachCore`, because apps use them; where they list the values of one of its enums, this holds both together.
@Suite("Values on the wire")
struct WireValueTests {
    private static func values(_ name: String, of resource: any WireResource.Type) throws -> [String] {
        let field = try #require(resource.fields.first { $0.name == name })
        guard case .text(_, let values, _) = field.schema.form else { return [] }
        return values
    }

    @Test("fields with fixed values have those of the core's enums")
    func values() throws {
        #expect(try Self.values("role", of: MessageResource.self) == MessageRole.allCases.map(\.rawValue))
        #expect(try Self.values("status", of: MessageResource.self) == MessageRecord.Status.allCases.map(\.rawValue))
        #expect(try Self.values("source", of: ConversationResource.self) == ConversationSource.listed.map(\.rawValue))
        #expect(try Self.values("source", of: FoundMessageResource.self) == ConversationSource.listed.map(\.rawValue))
        #expect(try Self.values("status", of: SubscriptionResource.self) == EntitlementState.Status.allCases.map(\.rawValue))
        #expect(try Self.values("status", of: PersonaResource.self) == PersonaRecord.Status.allCases.map(\.rawValue))
        #expect(try Self.values("visibility", of: PersonaResource.self) == PersonaVisibility.allCases.map(\.rawValue))
    }
}
