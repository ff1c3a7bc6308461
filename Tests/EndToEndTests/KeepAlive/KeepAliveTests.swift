import Foundation
import Testing

private enum KeepAliveClient: String, CaseIterable {
    case http = "http_client.py"
    case requests = "requests_client.py"
    case aiohttp = "aiohttp_client.py"
    case httpx = "httpx_client.py"
    case node = "node_agent.mjs"

    var interpreter: String? {
        if self == .node { return ["/usr/bin/node", "/usr/local/bin/node"].first(where: FileManager.default.isExecutableFile) }
        return ProcessInfo.processInfo.environment["COACH_TEST_PYTHON"]
    }

    /// Whether all programs that the tests start are installed.
    static var areInstalled: Bool {
        allCases.allSatisfy { $0.interpreter != nil } && Proxy.Kind.allCases.allSatisfy { $0.program != nil }
    }
}

/// HTTP clients that reuse connections, each with its own rules for when one can be reused.
@Suite(
    "Clients that keep connections", .paced,
    .enabled(if: KeepAliveClient.areInstalled, "needs COACH_TEST_PYTHON, Node, nginx and HAProxy: deploy/test installs them"))
struct KeepAliveTests {
    enum Route: String, CaseIterable, Sendable {
        case direct = "alone"
        case nginx = "behind nginx"
        case haproxy = "behind HAProxy"
    }

    /// Requests of each client on each route. COACH_TEST_KEEP_ALIVE_TURNS=300 is a long run.
    private static let turns = ProcessInfo.processInfo.environment["COACH_TEST_KEEP_ALIVE_TURNS"].flatMap { Int($0) } ?? 63
    private static let workers = 3

    @Test("lose no request among turns back to back", arguments: Route.allCases)
    func backToBack(route: Route) async throws {
        let pair = try await Pair.shared()
        let kind = Proxy.Kind(rawValue: "\(route)")
        let proxy: Proxy? = if let kind { try await Proxy(kind, before: pair) } else { nil }
        let port = proxy?.port ?? pair.one.port
        let folder = Program.checkout.appendingPathComponent("Tests/EndToEndTests/KeepAlive/Clients").path
        let runs = try KeepAliveClient.allCases.enumerated().map { index, client in
            let interpreter = try #require(client.interpreter)
            let tokens = (0..<Self.workers).map { _ in Token(user: UUID().uuidString.lowercased()).text }.joined(separator: ",")
            return try Program(
                ["\(folder)/\(client.rawValue)", "http://127.0.0.1:\(port)", tokens, "\(Self.workers)", "\(Self.turns)", "\(index + 1)"],
                environment: ["PYTHONDONTWRITEBYTECODE": "1"], executable: URL(fileURLWithPath: interpreter))
        }
        for (client, run) in zip(KeepAliveClient.allCases, runs) {
            #expect(try await run.exit(within: max(120, Double(2 * Self.turns))) == 0, "\(client.rawValue): \(run.output)")
            let account = JSONObject(run.lines.last ?? "")
            #expect(account.number("turns") == Self.turns, "\(client.rawValue): \(run.output)")
            #expect(account.names.contains("failures") && account.texts("failures").isEmpty, "\(client.rawValue): \(run.output)")
        }
        try await proxy?.end()
    }
}
