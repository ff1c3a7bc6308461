import Foundation
import TestSupport

extension Program {
    /// Runs a bash script to its end.
    static func bash(_ script: String) async throws -> (status: Int32, output: String) {
        let program = try Program(
            ["-c", script], environment: ["PATH": "/usr/bin:/bin:/usr/sbin"], executable: URL(fileURLWithPath: "/bin/bash"))
        let status = try await program.exit()
        return (status, program.output)
    }
}
