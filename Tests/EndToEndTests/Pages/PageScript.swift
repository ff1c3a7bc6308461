import Foundation
import Testing

/// A script that drives the gateway's pages in Debian's Chromium.
enum PageScript {
    private static let python = ProcessInfo.processInfo.environment["COACH_TEST_PYTHON"]

    /// Whether this machine has what scripts need.
    static let canRun =
        python != nil && ["chromium", "chromedriver"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }
    static let reason: Comment = "COACH_TEST_PYTHON names no Python that has selenium, or there is no Chromium"

    /// The access token of a new operator.
    static func operatorToken() -> String {
        Token(user: UUID().uuidString.lowercased()).with(["app_metadata": ["role": "operator"]]).text
    }

    /// Runs one to its end, which must be a success. `COACH_SCREENSHOTS` names a folder for pictures of what it saw.
    static func run(_ name: String, _ arguments: [String]) async throws {
        let python = try #require(Self.python)
        let script = Program.checkout.appendingPathComponent("Tests/EndToEndTests/Pages/Scripts/\(name)").path
        let screenshots = ProcessInfo.processInfo.environment["COACH_SCREENSHOTS"].map { ["COACH_SCREENSHOTS": $0] }
        let run = try Program([script] + arguments, environment: screenshots ?? [:], executable: URL(fileURLWithPath: python))
        let status = try await run.exit(within: 600)
        #expect(status == 0 && run.lines.last == "done", "\(run.output)")
    }
}
