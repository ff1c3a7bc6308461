import Foundation
import Testing

@Suite("The official packages of the providers", .paced)
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
}
