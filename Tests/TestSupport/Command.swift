import Foundation

/// Runs programs for tests, without blocking the threads of the tests.
enum Command {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a program to its end.
    /// - Returns: what it printed on standard output.
    /// - Throws: `Failure` with what it printed on standard error, when its exit code is not 0.
    @discardableResult
    static func run(_ program: String, _ arguments: [String]) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try runBlocking(program, arguments) }) }
        }
    }

    static func runBlocking(_ program: String, _ arguments: [String]) throws -> String {
        let (process, output) = try launch(program, arguments)
        let text = String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(program) ended with \(process.terminationStatus): \(text)")
        }
        return text
    }

    /// Starts a program and does not wait for it.
    static func start(_ program: String, _ arguments: [String], log: FileHandle = .nullDevice) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = log
        process.standardError = log
        try process.run()
        return process
    }

    private static func launch(_ program: String, _ arguments: [String]) throws -> (Process, FileHandle) {
        let pipe = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        return (process, pipe.fileHandleForReading)
    }

    /// The path of a program on `PATH`, or among the directories where system tools live.
    static func find(_ name: String) -> String? {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/usr/bin:/sbin:/bin"
        return path.split(separator: ":").map { "\($0)/\(name)" }.first(where: FileManager.default.isExecutableFile)
    }
}

/// Where PostgreSQL's programs are.
enum PostgresPrograms {
    /// Debian keeps them out of `PATH`, one directory a version: the newest.
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
