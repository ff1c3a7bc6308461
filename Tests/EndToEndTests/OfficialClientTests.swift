import Foundation
import Testing

@Suite("The official OpenAI client", .paced)
struct OfficialClientTests {
    private static let python = ProcessInfo.processInfo.environment["COACH_TEST_PYTHON"]

    @Test(
        "works against the simulator, unchanged",
        .enabled(if: python != nil, "COACH_TEST_PYTHON names no Python that has the package openai"))
    func simulator() async throws {
        // A new simulator, because the test changes its default script.
        let simulator = try await Simulator()
        let python = try #require(Self.python)
        let script = Program.checkout.appendingPathComponent("Tests/ProviderSimulatorTests/openai_sdk.py").path
        let run = try Program([script, "http://127.0.0.1:\(simulator.port)"], executable: URL(fileURLWithPath: python))
        let status = try await run.exit(within: 60)
        #expect(status == 0, "\(run.output)")
        #expect(run.lines.count > 5)
    }
}
