import CoachClient
import Foundation
import GatewayAPI
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Holds the methods of the SDK against the routes of the gateway, so that neither can be forgotten.
@Suite("Methods of the SDK", .paced)
struct ClientRouteTests {
    /// Routes that apps do not call.
    private static let others: Set<String> = [
        // For previews of a link in messengers.
        "GET /p/*/avatar"
    ]

    private final class Recorder: Sendable {
        private let routes = Mutex<Set<String>>([])
        var all: Set<String> { routes.withLock { $0 } }
        func add(_ route: String) { _ = routes.withLock { $0.insert(route) } }
    }

    private static let id = UUID(uuidString: "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa") ?? UUID()
    /// What stands in a path for its parameters.
    private static let parameters: Set<String> = [id.uuidString.lowercased(), "memory", "7", "some-token"]

    private static let calls: [@Sendable (CoachClient) async throws -> Void] = [
        { for try await _ in $0.send("Hello") {} }, { for try await _ in $0.resume(id) {} }, { for try await _ in $0.retry(id) {} },
        { try await $0.stop(id) },
        { _ = try await $0.me() }, { _ = try await $0.updateMe(AccountChange(locale: .set("en"))) }, { _ = try await $0.usage() },
        { _ = try await $0.subscription() }, { for try await _ in $0.domains() {} }, { _ = try await $0.contextProfile() },
        { _ = try await $0.patchContextProfile(ProfileChange(goals: []), tag: "*") },
        { _ = try await $0.replaceContextProfile(ProfileChange(), tag: "*") },
        { _ = try await $0.undoContextProfile(tag: "*") }, { for try await _ in $0.contextProfileHistory() {} },
        { for try await _ in $0.consents() {} }, { _ = try await $0.decide("memory", granted: true, version: "1") },
        { _ = try await $0.reportAnswer(id, reason: "other") }, { _ = try await $0.reportPersona(id, reason: "other") },
        { _ = try await $0.crisisResources(country: "GB") }, { for try await _ in try await $0.export() {} },
        { _ = try await $0.prepareRemoval() },
        { try await $0.removeAccount(confirmation: "x") },
        { _ = try await $0.conversations() }, { _ = try await $0.createConversation() }, { _ = try await $0.conversation(id) },
        { _ = try await $0.changeConversation(id, .init(title: .set("x")), tag: "*") }, { try await $0.deleteConversation(id) },
        { _ = try await $0.messages(of: id) }, { for try await _ in $0.searchMessages("x") {} },
        { _ = try await $0.personaVersion(of: id) }, { _ = try await $0.acceptPersonaVersion(of: id) },
        { _ = try await $0.synchronise(MemoryCache()) },
        { for try await _ in $0.personas() {} }, { _ = try await $0.redeem(shareToken: "x") },
        { _ = try await $0.sharedPersona(token: "some-token") }, { _ = try await $0.avatar(of: id) },
        { for try await _ in $0.ownPersonas() {} }, { _ = try await $0.createPersona(PersonaDraft(name: "x")) },
        { _ = try await $0.persona(id) },
        { _ = try await $0.replacePersona(id, by: PersonaDraft(name: "x"), tag: "*") }, { try await $0.deletePersona(id) },
        { _ = try await $0.publishPersona(id) }, { _ = try await $0.unpublishPersona(id) },
        { for try await _ in $0.preview(id, "Hello") {} }, { for try await _ in $0.personaVersions(id) {} },
        { _ = try await $0.publishedVersion(7, of: id) }, { _ = try await $0.personaDifference(id, from: 1) },
        { _ = try await $0.rollBackPersona(id, to: 1, tag: "*") }, { _ = try await $0.personaStatistics(id) },
        { try await $0.setAvatar(Data(), of: id) }, { try await $0.deleteAvatar(of: id) }, { _ = try await $0.card(of: id) },
        { _ = try await $0.importCard(Data(), into: id, tag: "*") }, { for try await _ in $0.shareLinks(of: id) {} },
        { _ = try await $0.createShareLink(for: id) }, { try await $0.revokeShareLink(id, of: id) },
    ]

    @Test("call every route of users and creators, and no other")
    func routes() async throws {
        let gateway = try await TestBed.shared().gateway
        let recorder = Recorder()
        let transport = Transport { request in
            let path = (request.url?.path ?? "").split(separator: "/").map { Self.parameters.contains(String($0)) ? "*" : String($0) }
            recorder.add("\(request.httpMethod ?? "") /\(path.joined(separator: "/"))")
            // Not a lost connection, after which streams are tried again without end.
            return Transport.Response(status: 400, headers: [:], body: AsyncThrowingStream { $0.finish() })
        }
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let client = CoachClient(baseURL: url, configuration: .init(transport: transport)) { "t" }
        for call in Self.calls { await #expect(throws: CoachError.self) { try await call(client) } }
        let routes = try await routes(gateway.port)
        #expect(routes.count > 45)
        #expect(routes.subtracting(recorder.all) == [], "routes without a method")
        #expect(recorder.all.subtracting(routes) == [], "methods without a route")
    }

    /// Those below `/api/v1`, `/functions/v1/chat-stream` and `/p`, each parameter as `*`.
    private func routes(_ port: Int) async throws -> Set<String> {
        let document = try await Browser(port: port).send("GET", "/openapi.json")
        let json = try JSONSerialization.jsonObject(with: Data(document.body)) as? [String: Any]
        let paths = try #require(json?["paths"] as? [String: [String: [String: Any]]])
        let routes = paths.flatMap { path, operations in
            operations.compactMap { method, operation -> String? in
                guard ["/api/v1/", "/functions/v1/chat-stream", "/p/"].contains(where: path.hasPrefix),
                    operation["x-role"] as? String != "operator"
                else { return nil }
                return "\(method.uppercased()) \(path.replacing(/\{[a-z_]+\}/, with: "*"))"
            }
        }
        return Set(routes).subtracting(Self.others)
    }
}
