import Foundation
import Testing

/// Two gateways on a database of their own, because documents apply to a whole database.
struct DocumentFixture: Sendable {
    static let fitness = "/api/v1/operator/domain-configs/fitness"

    let database: Database
    let simulator: Simulator
    let one: Gateway
    let two: Gateway

    /// For tests each of which edits a document that no other edits.
    static let shared = Task { try await DocumentFixture() }

    init() async throws {
        database = try await Database.ofItsOwn()
        simulator = try await Simulator()
        one = try await Gateway(database: database.gatewayURL, simulator: simulator.url)
        two = try await Gateway(database: database.gatewayURL, simulator: simulator.url)
    }

    /// The body of the current version of a domain's configuration, with another tone.
    func body(_ editor: TestUser, of path: String = fitness, tone: String) async throws -> (body: [String: Any], tag: String) {
        let answer = try await editor.send("GET", path)
        let json = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        var body = try #require((json?["data"] as? [String: Any])?["body"] as? [String: Any])
        body["tone"] = tone
        return (body, try #require(answer.headers["etag"]))
    }
}
