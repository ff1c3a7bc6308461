import Foundation
import Synchronization

/// A run of the real executable. What it writes is kept; it is stopped by its own id when the test lets go of it.
final class Program: @unchecked Sendable {
    private let process = Process()
    private let pipe = Pipe()
    private let written = Mutex("")

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// The executable that this test run built, beside the test bundle; COACH_TEST_EXECUTABLE names another.
    static let executable: URL = {
        if let named = ProcessInfo.processInfo.environment["COACH_TEST_EXECUTABLE"] { return URL(fileURLWithPath: named) }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("coach-gateway")
    }()

    static let checkout = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Starts it. The environment is exactly the one given, besides PATH, HOME and COACH_ROOT.
    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = Self.executable
        process.arguments = arguments
        process.currentDirectoryURL = FileManager.default.temporaryDirectory
        var all = ["COACH_ROOT": Self.checkout.path]
        for name in ["PATH", "HOME"] { all[name] = ProcessInfo.processInfo.environment[name] }
        process.environment = all.merging(environment) { $1 }
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.written.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Everything written so far, to either stream.
    var output: String { written.withLock { $0 } }

    var isRunning: Bool { process.isRunning }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the exit and for the last words.
    @discardableResult
    func exit(within seconds: Double = 30) async throws -> Int32 {
        try await eventually(within: seconds, "the exit of \(process.arguments ?? [])\n\(output)") { !self.process.isRunning }
        try await eventually(within: 5, "the end of the output") { self.pipe.fileHandleForReading.readabilityHandler == nil }
        return process.terminationStatus
    }

    /// The port in the first line that names one as `"port":N` or `listening on HOST:N`.
    func port(within seconds: Double = 30) async throws -> Int {
        try await eventually(within: seconds, "a port in\n\(output)") { self.announcedPort != nil || !self.process.isRunning }
        guard let announcedPort else { throw Failure(description: "it ended without listening:\n\(output)") }
        return announcedPort
    }

    private var announcedPort: Int? {
        guard let match = output.firstMatch(of: /listening[^\n]*?(?:"port":"?|:)([0-9]+)/) else { return nil }
        return Int(match.1)
    }

    /// Runs to the end.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> (status: Int32, output: String) {
        let program = try Program(arguments, environment: environment)
        let status = try await program.exit(within: 120)
        return (status, program.output)
    }
}

/// Waits until a condition holds; throws with `what` when it does not in time.
func eventually(within seconds: Double = 10, _ what: @autoclosure () -> String, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw Program.Failure(description: "waited \(seconds) s in vain for \(what())")
}
