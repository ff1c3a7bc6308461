import Foundation
import TestSupport

/// A process of the real executable, with its output. Killed when this object is freed.
final class Program: Sendable {
    private let arguments: [String]
    private let process: ChildProcess
    private let writing: Writing

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// The executable that this test run built, beside the test bundle; COACH_TEST_EXECUTABLE names another.
    static let executable: URL = {
        if let named = ProcessInfo.processInfo.environment["COACH_TEST_EXECUTABLE"] { return URL(fileURLWithPath: named) }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("coach-gateway")
    }()

    /// The folder with `db`, `prompts`, `domains` and `deploy`: the checkout; COACH_TEST_ROOT names another.
    static let root: URL = {
        if let named = ProcessInfo.processInfo.environment["COACH_TEST_ROOT"] { return URL(fileURLWithPath: named) }
        return checkout
    }()

    static let checkout = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Starts it. The environment is exactly the one given, besides PATH, HOME and COACH_ROOT.
    /// - Parameters:
    ///   - takesInput: whether `type` can write to its standard input; otherwise that is empty.
    ///   - log: the destination of its standard error; nil: `output`.
    init(
        _ arguments: [String], environment: [String: String] = [:], takesInput: Bool = false, log: Pipe? = nil, executable: URL? = nil
    ) throws {
        self.arguments = arguments
        var all = ["COACH_ROOT": Self.root.path]
        for name in ["PATH", "HOME"] { all[name] = ProcessInfo.processInfo.environment[name] }
        writing = try Writing()
        process = try ChildProcess(
            [(executable ?? Self.executable).path] + arguments, environment: all.merging(environment) { $1 },
            directory: FileManager.default.temporaryDirectory.path, input: takesInput ? .pipe : .null,
            output: .descriptor(writing.descriptor),
            errors: .descriptor(log?.fileHandleForWriting.fileDescriptor ?? writing.descriptor))
        try log?.fileHandleForWriting.close()
        ProcessCleanup.kill(process.identifier)
    }

    deinit { process.signal(SIGKILL) }

    /// Everything written so far, to either stream.
    var output: String { writing.text }

    /// The complete lines written so far.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: true).map(String.init) }

    var isRunning: Bool { process.isRunning }

    var identifier: Int32 { process.identifier }

    var memory: ProcessMemory { ProcessMemory(process: identifier) }

    func signal(_ number: Int32) { process.signal(number) }

    /// Kills it and waits until it has ended and its files are closed.
    func kill9() async throws {
        signal(SIGKILL)
        try await eventually("the end of \(process.identifier)") { !process.isRunning }
    }

    /// Writes a line to its input.
    func type(_ line: String) throws { try process.write(line) }

    /// Closes its input.
    func endInput() { process.endInput() }

    /// Waits for the exit.
    @discardableResult
    func exit(within seconds: Double = 30) async throws -> Int32 {
        try await eventually(within: .seconds(seconds), "the exit of \(arguments)\n\(output)") { !self.process.isRunning }
        return process.wait()
    }

    /// The port in the first line that names one as `"port":N` or `listening on HOST:N`.
    func port(within seconds: Double = 60) async throws -> Int {
        try await eventually(within: .seconds(seconds), "a port in\n\(output)") { self.announcedPort != nil || !self.process.isRunning }
        guard let announcedPort else { throw Failure(description: "it ended without listening:\n\(output)") }
        return announcedPort
    }

    private var announcedPort: Int? {
        guard let match = output.firstMatch(of: /listening[^\n]*?(?:"port":"?|:)([0-9]+)/) else { return nil }
        return Int(match.1)
    }

    /// Runs the executable to its end.
    static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> (status: Int32, output: String) {
        let program = try Program(arguments, environment: environment)
        let status = try await program.exit(within: 120)
        return (status, program.output)
    }

    /// Runs the executable to its end, which must be successful.
    @discardableResult
    static func succeed(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let (status, output) = try await run(arguments, environment: environment)
        guard status == 0 else { throw Failure(description: "\(arguments) ended with \(status):\n\(output)") }
        return output
    }
}
