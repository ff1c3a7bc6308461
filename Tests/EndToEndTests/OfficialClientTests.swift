import Foundation
import Testing

@Suite("Official clients", .paced)
struct OfficialClientTests {
    private static let python = ProcessInfo.processInfo.environment["COACH_TEST_PYTHON"]

    @Test(
        "work against the simulator, unchanged",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the packages"),
        arguments: ["openai_sdk.py", "official_sdks.py"])
    func simulator(_ name: String) async throws {
        // One of its own: the script changes the simulator's standing script.
        let simulator = try await Simulator()
        let python = try #require(Self.python)
        let script = Program.checkout.appendingPathComponent("Tests/ProviderSimulatorTests/\(name)").path
        let run = try Program([script, "http://127.0.0.1:\(simulator.port)"], executable: URL(fileURLWithPath: python))
        let status = try await run.exit(within: 60)
        #expect(status == 0, "\(run.output)")
        #expect(run.lines.count > 5)
    }

    @Test(
        "work against the gateway, unchanged",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package openai"))
    func gateway() async throws {
        let gateway = try await TestBed.shared().gateway
        let python = try #require(Self.python)
        let script = Program.checkout.appendingPathComponent("Tests/EndToEndTests/OpenAI/openai_clients.py").path
        let token = Token(user: UUID().uuidString.lowercased()).text
        let run = try Program([script, "http://127.0.0.1:\(gateway.port)", token], executable: URL(fileURLWithPath: python))
        let status = try await run.exit(within: 120)
        #expect(status == 0, "\(run.output)")
        #expect(run.lines.count { $0.hasPrefix("ok openai") } >= 13, "\(run.output)")
    }
}
