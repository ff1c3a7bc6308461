import Foundation
import TestSupport
import Testing

/// `deploy/run` with a `swift` that has built already. Everything else is real: cluster, simulator, gateway.
// One at a time: the script takes the first free ports.
@Suite("deploy/run", .serialized, .paced)
struct RunScriptTests {
    private let folder: Folder
    private let script = Program.checkout.appendingPathComponent("deploy/run").path

    init() throws {
        folder = try Folder()
        try folder.write(
            "swift",
            """
            #!/bin/sh
            case "$*" in
                --version) echo "Swift version 6.3" ;;
                *--show-bin-path*) echo '\(Program.executable.deletingLastPathComponent().path)' ;;
            esac
            """)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path + "/swift")
    }

    /// Starts the script as a shell does that is not interactive and runs it in the background: with SIGINT ignored.
    private func start(_ arguments: [String], path: String, environment: [String: String] = [:]) throws -> Program {
        try Program(
            ["-c", "trap '' INT; exec \"$0\" \"$@\"", script] + arguments, environment: environment.merging(["PATH": path]) { $1 },
            executable: URL(fileURLWithPath: "/bin/bash"))
    }

    private var path: String { "\(folder.path):/usr/bin:/bin:/usr/sbin" }

    private func killAtEnd(_ data: String) {
        ProcessCleanup.runAtEnd("kill -QUIT $(head -n 1 '\(data)/postgres/data/postmaster.pid') 2>/dev/null")
    }

    /// Starts it and waits until it can be used.
    private func ready(_ data: String, port: Int) async throws -> Program {
        let run = try start(["--port", "\(port)", "--data", data], path: path)
        try await eventually("the end of the start in\n\(run.output)") {
            run.output.contains("Ctrl-C stops everything") || !run.isRunning
        }
        return run
    }

    /// The printed command that sends a message.
    private func printedCommand(of run: Program) throws -> String {
        let page = try #require(run.lines.firstIndex { $0.hasSuffix("/try") }, "\(run.output)")
        return try #require(run.lines[page...].first { $0.hasPrefix("curl -N ") })
    }

    /// Waits for the end; nothing that was started is left.
    private func expectEnd(of run: Program, _ data: String, within seconds: Double, status: Int32) async throws {
        #expect(try await run.exit(within: seconds) == status)
        #expect(postmaster(data).isEmpty)
        for command in ["serve", "simulate-llm"] { #expect(try processes(of: data, command).isEmpty) }
    }

    @Test("starts everything again that dies, and ends it at SIGINT; a second run has the same keys, and ends at SIGTERM")
    func life() async throws {
        let (data, port) = (folder.path + "/data", try ThrowawayCluster.freePort())
        killAtEnd(data)
        let run = try await ready(data, port: port)
        let command = try printedCommand(of: run)
        try await expectAnswer(to: command)

        kill(try #require(processes(of: data, "simulate-llm").first), SIGKILL)
        try await eventually("the simulator in\n\(run.output)") { run.output.contains("The simulator has ended by itself") }
        kill(try #require(Int32(postmaster(data))), SIGKILL)
        try await eventually("PostgreSQL in\n\(run.output)") { run.output.contains("PostgreSQL has ended by itself") }
        try await expectAnswer(to: command)
        run.signal(SIGINT)
        try await expectEnd(of: run, data, within: 60, status: 128 + SIGINT)

        // The token of the first run opens the second one.
        let second = try await ready(data, port: port)
        try await expectAnswer(to: command)
        second.signal(SIGTERM)
        try await expectEnd(of: second, data, within: 60, status: 128 + SIGTERM)
    }

    @Test("waits at SIGINT for running turns and says so, ends them at a second one; a gateway that does not start is checked")
    func runningTurns() async throws {
        let (data, port) = (folder.path + "/data", try ThrowawayCluster.freePort())
        killAtEnd(data)
        let run = try await ready(data, port: port)
        // A terminal's Ctrl-C goes to the script alone.
        for command in ["serve", "simulate-llm"] {
            let process = try #require(processes(of: data, command).first)
            #expect(getsid(process) == process)
        }
        let command = try printedCommand(of: run)
        let (short, long) = (try turn(command, words: 60), try turn(command, words: 600))
        for turn in [short, long] {
            try await eventually("an answer's begin in\n\(turn.output)") { turn.output.contains(#""type":"token""#) }
        }
        run.signal(SIGINT)
        try await eventually("what it waits for in\n\(run.output)") { run.output.contains("Turns or streams still run") }
        try await eventually("the end of the short answer in\n\(short.output)") { short.output.contains(#""type":"done""#) }
        #expect(run.isRunning && long.isRunning)
        run.signal(SIGINT)
        try await expectEnd(of: run, data, within: 15, status: 128 + SIGINT)

        let unfit = try start(["--port", "\(port)", "--data", data], path: path, environment: ["OPENAI_BASE_URL": "ftp://nowhere"])
        try await expectEnd(of: unfit, data, within: 60, status: 8)
        let findings = try #require(unfit.lines.firstIndex { $0.hasPrefix("Findings of coach-gateway check") }, "\(unfit.output)")
        let named = unfit.lines[findings...].contains { $0 == "- OPENAI_BASE_URL: not an http or https address" }
        #expect(named, "\(unfit.output)")
        #expect(!unfit.output.contains("DATABASE_URL: "), "\(unfit.output)")
    }

    @Test("says which step fails, why, and what to do")
    func failures() async throws {
        let unmakeable = try start(["--data", "/proc/nowhere"], path: "\(folder.path):/usr/bin:/bin")
        #expect(try await unmakeable.exit() == 10)
        let noCompiler = try start(["--data", folder.path + "/none"], path: "/usr/bin:/bin")
        #expect(try await noCompiler.exit() == 4)
        for run in [unmakeable, noCompiler] {
            #expect(["Failed: ", "Why:    ", "Do:     "].allSatisfy { part in run.lines.contains { $0.hasPrefix(part) } }, "\(run.output)")
        }
    }

    /// The printed command streams a whole answer, at the latest when what was started again is ready.
    private func expectAnswer(to command: String) async throws {
        var output = ""
        try await eventually("an answer in\n\(output)") {
            let curl = try Program(["-c", command], executable: URL(fileURLWithPath: "/bin/bash"))
            try await curl.exit()
            output = curl.output
            return output.contains(#""type":"token""#) && output.contains(#""type":"done""#)
        }
    }

    /// Sends a message with the printed command; ten words a second are answered.
    private func turn(_ command: String, words: Int) throws -> Program {
        let option = try #require(command.range(of: " -d "))
        let body = try JSONSerialization.data(withJSONObject: ["message": "Tell me \(sim(["words": words, "pace_ms": 100]))"])
        return try Program(
            ["-c", "\(command[..<option.lowerBound]) -d '\(String(decoding: body, as: UTF8.self))'"],
            executable: URL(fileURLWithPath: "/bin/bash"))
    }

    /// The first line of PostgreSQL's file of its process; empty when it is stopped.
    private func postmaster(_ data: String) -> String {
        let file = try? String(contentsOfFile: data + "/postgres/data/postmaster.pid", encoding: .utf8)
        return file?.split(separator: "\n").first.map(String.init) ?? ""
    }

    /// The processes of a command of the gateway that write into the data folder's logs.
    private func processes(of data: String, _ command: String) throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(Int32.init).filter { process in
            let arguments = FileManager.default.contents(atPath: "/proc/\(process)/cmdline")?.split(separator: 0)
            let output = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/1")
            return arguments?.contains(Data(command.utf8)) == true && output?.contains((folder.path as NSString).lastPathComponent) == true
        }
    }
}
