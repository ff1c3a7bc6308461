import Foundation

/// A run of the real executable. What it writes is kept; it is stopped by its own id when the test lets go of it.
final class Program: @unchecked Sendable {
    private let process = Process()
    private let writing: Writing
    private let input: Pipe?

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
    ///   - takesInput: it reads what `type` gives it; otherwise nothing.
    ///   - log: where its standard error goes; nil: to `output`.
    init(
        _ arguments: [String], environment: [String: String] = [:], takesInput: Bool = false, log: Pipe? = nil, executable: URL? = nil
    ) throws {
        process.executableURL = executable ?? Self.executable
        process.arguments = arguments
        process.currentDirectoryURL = FileManager.default.temporaryDirectory
        var all = ["COACH_ROOT": Self.root.path]
        for name in ["PATH", "HOME"] { all[name] = ProcessInfo.processInfo.environment[name] }
        process.environment = all.merging(environment) { $1 }
        writing = try Writing()
        process.standardOutput = writing.handle
        process.standardError = log ?? writing.handle
        input = takesInput ? Pipe() : nil
        process.standardInput = input ?? FileHandle.nullDevice
        try process.run()
        ProcessCleanup.bury(process.processIdentifier)
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Everything written so far, to either stream.
    var output: String { writing.text }

    /// The complete lines written so far.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: true).map(String.init) }

    var isRunning: Bool { process.isRunning }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Kills it, and waits until it is gone and has let go of its files. The kernel says so; Foundation hears of it later.
    func kill9() async throws {
        signal(SIGKILL)
        let path = "/proc/\(process.processIdentifier)/stat"
        try await eventually("the death of \(process.processIdentifier)") {
            guard let stat = FileManager.default.contents(atPath: path) else { return true }
            return String(decoding: stat, as: UTF8.self).split(separator: ")").last?.hasPrefix(" Z") ?? true
        }
    }

    /// Gives it a line to read.
    func type(_ line: String) throws { try input?.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Nothing more will be typed.
    func endInput() throws { try input?.fileHandleForWriting.close() }

    /// Waits for the exit.
    @discardableResult
    func exit(within seconds: Double = 30) async throws -> Int32 {
        try await eventually(within: seconds, "the exit of \(process.arguments ?? [])\n\(output)") { !self.process.isRunning }
        return process.terminationStatus
    }

    /// The port in the first line that names one as `"port":N` or `listening on HOST:N`.
    func port(within seconds: Double = 60) async throws -> Int {
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

    /// Runs to the end, which must be a success.
    @discardableResult
    static func succeed(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let (status, output) = try await run(arguments, environment: environment)
        guard status == 0 else { throw Failure(description: "\(arguments) ended with \(status):\n\(output)") }
        return output
    }
}

/// Waits until a condition holds; throws with `what` when it does not in time.
func eventually(within seconds: Double = 15, _ what: @autoclosure () -> String, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(15))
    }
    throw Program.Failure(description: "waited \(seconds) s in vain for \(what())")
}
