import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import Testing

@testable import HTTPEdge

@Suite("Links of the OpenAPI document")
struct OpenAPILinkTests {
    private struct Routes: Feature {
        func register(on routes: RouteTable) {
            let group = routes.open("Test")
            let part = Schema.object([.init("id", .id), .init("turn_id", .id.nullable)]).named("Part")
            for path in ["/things", "/things/{id}/parts"] {
                group.post(path, .init("Create", response: .data(part, status: .created))) { _, _ in .init(status: .ok) }
            }
            group.get("/things/{id}/parts", .init("List", response: .list(part))) { _, _ in .init(status: .ok) }
            for path in [
                "/things/{id}", "/things/{id}/parts/{part_id}", "/things/{id}/parts/{part_id}/diff", "/turns/{turn_id}", "/others/{id}",
                "/things/{id}/{other}",
            ] {
                group.delete(path, .init("Delete", response: .noContent)) { _, _ in .init(status: .ok) }
            }
        }
    }

    /// The links of a response as `operation name=expression …`, in alphabetical order.
    private func links(_ path: String, _ method: String, _ status: String) async throws -> [String] {
        let document = try await EdgeFixture(Routes()).send(.get, "/openapi.json").json
        let links = document["paths"]?[path]?[method]?["responses"]?[status]?["links"]?.members ?? []
        return links.map { link in
            let parameters = (link.value["parameters"]?.members ?? []).map { "\($0.key)=\($0.value.string ?? "")" }
            return ([link.value["operationId"]?.string ?? ""] + parameters).joined(separator: " ")
        }.sorted()
    }

    @Test("lead from a created resource to the operations on it, and to those on what it names")
    func created() async throws {
        #expect(
            try await links("/things", "post", "201") == [
                "delete_things_id path.id=$response.body#/data/id",
                "delete_turns_turn_id path.turn_id=$response.body#/data/turn_id",
                "get_things_id_parts path.id=$response.body#/data/id",
                "post_things_id_parts path.id=$response.body#/data/id",
            ])
    }

    @Test("take the parameters of the path before from the request, and of a list its first resource")
    func below() async throws {
        for (method, status, pointer) in [("post", "201", "/data"), ("get", "200", "/data/0")] {
            let own = "path.id=$request.path.id"
            #expect(
                try await links("/things/{id}/parts", method, status) == [
                    "delete_things_id_parts_part_id \(own) path.part_id=$response.body#\(pointer)/id",
                    "delete_things_id_parts_part_id_diff \(own) path.part_id=$response.body#\(pointer)/id",
                    "delete_turns_turn_id path.turn_id=$response.body#\(pointer)/turn_id",
                ])
        }
    }

    @Test("are absent where a response names nothing")
    func none() async throws {
        #expect(try await links("/things/{id}", "delete", "204").isEmpty)
    }
}
