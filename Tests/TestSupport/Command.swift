import Foundation

/// Runs programs for tests, without blocking the threads of the tests.
enum Command {
    typealias Failure = ChildProcess.Failure

    /// Runs a program to its end.
    /// - Returns: its output and errors.
    /// - Throws: `Failure` with the same, when its exit code is not 0.
    @discardableResult
    static func run(_ program: String, _ arguments: [String]) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try ChildProcess.run([program] + arguments, errors: .pipe) })
            }
        }
    }

    /// The path of a program on `PATH`, or among the directories where system tools live.
    static func find(_ name: String) -> String? {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/usr/bin:/sbin:/bin"
        return path.split(separator: ":").map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
    }
}

/// Where PostgreSQL's programs are.
enum PostgresPrograms {
    /// The newest version. Debian has a directory outside of `PATH` for each.
    static func path(_ name: String) throws -> String {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let newestFirst = versions.compactMap(Int.init).sorted(by: >)
        let candidates = newestFirst.map { "/usr/lib/postgresql/\($0)/bin/\(name)" }
        guard let found = candidates.first(where: FileManager.default.isExecutableFile) ?? Command.find(name) else {
            throw Command.Failure(description: "\(name) not found: install the package postgresql")
        }
        return found
    }
}
