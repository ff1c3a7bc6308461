import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import Testing

@testable import HTTPEdge

@Suite("Entity tags")
struct EntityTagTests {
    private struct Routes: Feature {
        func register(on routes: RouteTable) {
            let group = routes.open("Test")
            let description = RouteDescription("Test", response: .data(.any).versioned)
            group.get("/thing", description) { request, context in
                .envelope(context) { $0.string("thing") }.tagged(EntityTag(version: 12), for: request)
            }
            group.put("/thing", description) { request, context in
                let expected = try request.expectedVersion(required: true)
                return .envelope(context) { $0.string("\(expected)") }
            }
        }
    }

    @Test(
        "a GET with a current If-None-Match is 304 without a body",
        arguments: [(nil, 200), ("\"v12\"", 304), ("W/\"v12\"", 304), ("\"v1\", \"v12\"", 304), ("*", 304), ("\"v11\"", 200)]
            as [(String?, Int)])
    func conditionalGet(tag: String?, status: Int) async throws {
        var headers = HTTPFields()
        headers[.ifNoneMatch] = tag
        let answer = try await EdgeFixture(Routes()).send(.get, "/thing", headers: headers)
        #expect(answer.status == status && answer.headers[.eTag] == "\"v12\"" && answer.body.isEmpty == (status == 304))
        #expect(answer.headers[.cacheControl] == "no-store, no-transform")
    }

    @Test(
        "If-Match lists strong tags; a weak or foreign one matches no version",
        arguments: [
            ("\"v12\"", ExpectedVersion.oneOf([12])), ("\"v1\",  \"v2\"", .oneOf([1, 2])), ("W/\"v12\"", .oneOf([])), ("\"x\"", .oneOf([])),
            ("\"v012\", \"v+12\"", .oneOf([])), ("*", .any),
        ])
    func ifMatch(header: String, expected: ExpectedVersion) async throws {
        let answer = try await EdgeFixture(Routes()).send(.put, "/thing", headers: [.ifMatch: header])
        #expect(answer.json["data"]?.string == "\(expected)")
    }

    /// A resource at version 12.
    private struct Edits: Feature {
        struct Record { var version: Int64 }

        struct Resource: WireResource {
            static let schemaName = "Thing"
            static let fields: [Schema.Field] = [.init("version", .integer)]
            var version: Int64

            func write(to writer: inout JSONWriter) { writer.object { $0.member("version", version) } }
        }

        func register(on routes: RouteTable) {
            let versioned = VersionedResource<Record, Resource>({ Resource(version: $0.version) }, version: \.version)
            routes.authenticated("Test").put("/edit", .init("Test", response: .data(.any).versioned)) { request, context in
                try await versioned.edit(request, context, current: { Record(version: 12) }) { expectedVersions in
                    if let expectedVersions, !expectedVersions.contains(12) { throw StaleVersion() }
                    return Record(version: 13)
                }
            }
        }
    }

    @Test(
        "an edit of the current version answers with the new one, of another with 412 and the current one",
        arguments: [("\"v12\"", 200, 13), ("*", 200, 13), ("\"v11\"", 412, 12)])
    func edit(expected: String, status: Int, version: Double) async throws {
        let edge = try EdgeFixture(Edits())
        let answer = try await edge.send(.put, "/edit", token: edge.token(), headers: [.ifMatch: expected])
        #expect(answer.status == status && answer.headers[.eTag] == "\"v\(Int(version))\"")
        let shown = status == 200 ? answer.json["data"] : answer.json["error"]?["details"]?["current"]
        #expect(shown?["version"]?.number == version)
        #expect(answer.headers[.cacheControl] == "no-store, no-transform", "a compressing proxy would make the tag weak")
    }

    @Test("a missing If-Match is 428")
    func missing() async throws {
        let answer = try await EdgeFixture(Routes()).send(.put, "/thing")
        #expect(answer.status == 428 && answer.errorCode == "BIZ_2008")
    }
}
