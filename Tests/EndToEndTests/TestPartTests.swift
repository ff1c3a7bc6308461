import Foundation
import TestSupport
import Testing

/// The functions of `deploy/test` with an executable that ends as the test says.
@Suite("Parts of deploy/test", .paced)
struct TestPartTests {
    private static let summary = "echo 'Test run with 3 tests in 1 suite failed'"

    /// Runs one part; returns its log.
    private func log(ofPart tests: String, limit: Int = 60) async throws -> String {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.path + "/.build", withIntermediateDirectories: false)
        try folder.write(".build/test.log", "")
        let deploy = Program.checkout.path + "/deploy"
        let script = """
            set -euo pipefail
            cd '\(folder.path)'
            # By this shell: a file that another process still has open for writing cannot be executed.
            cat >tests <<'end'
            #!/bin/sh
            \(tests)
            end
            chmod +x tests
            . '\(deploy)/lib.sh'; . '\(deploy)/test-parts.sh'
            parts=0; tests=./tests; width=1; part_limit=\(limit)
            ! run_tests
            """
        let run = try Program(
            ["-c", script], environment: ["PATH": "/usr/bin:/bin"], executable: URL(fileURLWithPath: "/bin/bash"))
        #expect(try await run.exit(within: 30) == 0, "\(run.output)")
        return try String(contentsOfFile: folder.path + "/.build/test.log", encoding: .utf8)
    }

    @Test("that crash say so in one line, with the signal or the error")
    func crash() async throws {
        let killed = try await log(ofPart: "echo begun; kill -KILL $$")
        #expect(killed.contains("\ncrashed with status 137\n"), "\(killed)")
        let fatal = try await log(ofPart: "echo 'A.swift:1: Fatal error: Index out of range'; kill -ILL $$")
        #expect(fatal.contains("\ncrashed with status 132: Fatal error: Index out of range\n"), "\(fatal)")
    }

    @Test("whose tests fail, or that take too long, have not crashed")
    func failure() async throws {
        let failed = try await log(ofPart: "\(Self.summary); exit 1")
        #expect(!failed.contains("crashed") && !failed.contains("broken off"), "\(failed)")
        let slow = try await log(ofPart: "exec sleep 30", limit: 1)
        #expect(slow.contains("broken off after 1 s") && !slow.contains("crashed"), "\(slow)")
    }
}
