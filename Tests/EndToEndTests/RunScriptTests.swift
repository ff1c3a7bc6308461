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
    private func start(_ arguments: [String], path: String) throws -> Program {
        try Program(
            ["-c", "trap '' INT; exec \"$0\" \"$@\"", script] + arguments, environment: ["PATH": path],
            executable: URL(fileURLWithPath: "/bin/bash"))
    }

    @Test("starts everything again that dies, and ends it at SIGINT; a second run has the same keys, and ends at SIGTERM")
    func life() async throws {
        let (data, port) = (folder.path + "/data", try ThrowawayCluster.freePort())
        ProcessCleanup.runAtEnd("kill -QUIT $(head -n 1 '\(data)/postgres/data/postmaster.pid') 2>/dev/null")
        func ready() async throws -> Program {
            let run = try start(["--port", "\(port)", "--data", data], path: "\(folder.path):/usr/bin:/bin:/usr/sbin")
            try await eventually("the end of the start in\n\(run.output)") {
                run.output.contains("Ctrl-C stops everything") || !run.isRunning
            }
            return run
        }
        func end(_ run: Program, _ signal: Int32) async throws {
            run.signal(signal)
            #expect(try await run.exit(within: 60) == 128 + signal)
            #expect(postmaster(data).isEmpty)
            for command in ["serve", "simulate-llm"] { #expect(try processes(of: data, command).isEmpty) }
        }
        let run = try await ready()
        let page = try #require(run.lines.firstIndex { $0.hasSuffix("/try") }, "\(run.output)")
        let command = try #require(run.lines[page...].first { $0.hasPrefix("curl -N ") })
        try await expectAnswer(to: command)

        kill(try #require(processes(of: data, "simulate-llm").first), SIGKILL)
        try await eventually("the simulator in\n\(run.output)") { run.output.contains("The simulator has ended by itself") }
        kill(try #require(Int32(postmaster(data))), SIGKILL)
        try await eventually("PostgreSQL in\n\(run.output)") { run.output.contains("PostgreSQL has ended by itself") }
        try await expectAnswer(to: command)
        try await end(run, SIGINT)

        // The token of the first run opens the second one.
        let second = try await ready()
        try await expectAnswer(to: command)
        try await end(second, SIGTERM)
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
