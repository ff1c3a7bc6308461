import Foundation
import TestSupport
import Testing

@Suite("The command line", .paced)
struct CommandTests {
    private static let commands = ["serve", "migrate", "seed", "check", "token", "chat", "assess", "simulate-llm", "version"]

    @Test("prints help for every sub-command", arguments: [""] + commands)
    func help(command: String) async throws {
        let (status, output) = try await Program.run(command.isEmpty ? ["--help"] : [command, "--help"])
        #expect(status == 0 && output.contains("USAGE: coach-gateway") && output.contains("--help"))
        if command.isEmpty { for name in Self.commands { #expect(output.contains(name), "\(name)") } }
    }

    @Test("serve ends at its start with a database that lacks its migrations, and with an invalid browser origin")
    func refusedStarts() async throws {
        let testBed = try await TestBed.shared()
        let empty = try await FreshDatabase()
        let unmigrated = try await Program.run(
            ["serve"], environment: Gateway.environment(database: empty.url, simulator: testBed.simulator.url))
        #expect(unmigrated.status != 0 && unmigrated.output.contains("migrate"), "\(unmigrated.output)")
        let origins = ["COACH_CORS_ORIGINS": "https://app.example, *.example"]
        let environment = Gateway.environment(database: testBed.database.gatewayURL, simulator: testBed.simulator.url)
        let open = try await Program.run(["serve"], environment: environment.merging(origins) { $1 })
        #expect(open.status != 0 && open.output.contains("COACH_CORS_ORIGINS"), "\(open.output)")
    }

    @Test("token creates a token that the gateway accepts, with role and lifetime")
    func token() async throws {
        let testBed = try await TestBed.shared()
        let user = UUID().uuidString.lowercased()
        let environment = ["COACH_ENV": "development", "COACH_JWT_SECRET": Token.secret]
        let text = try await Program.succeed(["token", "--user", user, "--role", "creator", "--ttl", "15m"], environment: environment)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let answer = try await Browser(port: testBed.gateway.port, token: text).post("{\"message\":\"hi\",\"domain\":\"no\"}")
        #expect(answer.status == 422 && answer.errorCode == "VAL_3003")
        let saved = try await Browser(port: testBed.gateway.port, token: text).post(#"{"message":"hello [[sim {\"words\":1}]]"}"#)
        #expect(saved.status == 200)
        #expect(try await testBed.database.messages(of: user, role: "user").count == 1)
        for arguments in [["--user", "me"], ["--ttl", "soon"], ["--role", "root"]] {
            #expect(try await Program.run(["token"] + arguments, environment: environment).status != 0, "\(arguments)")
        }
    }

    @Test("token fails in production, which is the default")
    func tokenInProduction() async throws {
        for environment in [["COACH_ENV": "production"], [:]] {
            let (status, output) = try await Program.run(
                ["token"], environment: environment.merging(["COACH_JWT_SECRET": Token.secret]) { $1 })
            #expect(status != 0 && output.contains("production") && !output.contains("eyJ"), "\(output)")
        }
    }

    @Test("an unknown key of the configuration file is reported, and a value that is neither text nor number; secrets are not printed")
    func configurationFile() async throws {
        let folder = try Folder()
        try folder.write("gateway.json", #"{"COACH_PROT": 8080, "COACH_JWT_SECRET": "from-a-file", "COACH_MAX_TURNS": true}"#)
        for command in ["serve", "check", "migrate"] {
            let (status, output) = try await Program.run([command, "--config", folder.path + "/gateway.json"])
            #expect(status != 0 && output.contains("COACH_PROT") && output.contains("COACH_MAX_TURNS"), "\(output)")
            #expect(!output.contains("from-a-file"))
        }
        let missing = try await Program.run(["serve", "--config", folder.path + "/none.json"])
        #expect(missing.status != 0 && missing.output.contains("none.json"))
    }

    @Test("the environment overrides the configuration file")
    func precedence() async throws {
        let folder = try Folder()
        try folder.write("gateway.json", #"{"COACH_PORT": "http", "COACH_HOST": "127.0.0.1"}"#)
        let arguments = ["check", "--config", folder.path + "/gateway.json"]
        #expect(try await Program.run(arguments).output.contains("COACH_PORT"))
        #expect(try await Program.run(arguments, environment: ["COACH_PORT": "0"]).output.contains("COACH_PORT") == false)
    }

    @Test("serve reports invalid and missing values, and exits")
    func serveWithoutSettings() async throws {
        let port = try await Program.run(["serve"], environment: ["COACH_PORT": "eighty"])
        #expect(port.status == 78 && port.output.contains("COACH_PORT") && port.output.contains("eighty"))
        let nothing = try await Program.run(["serve"], environment: ["COACH_JWT_SECRET": Token.secret])
        #expect(nothing.status == 78 && nothing.output.contains("DATABASE_URL"))
        let noSecret = try await Program.run(["serve"], environment: ["DATABASE_URL": "postgres://x@127.0.0.1:1/x"])
        #expect(noSecret.status == 78 && noSecret.output.contains("COACH_JWT_SECRET"))
    }

    @Test("serve reports a port that is in use, and exits")
    func portTaken() async throws {
        let testBed = try await TestBed.shared()
        let environment = Gateway.environment(database: testBed.database.gatewayURL, simulator: testBed.simulator.url)
            .merging(["COACH_PORT": "\(testBed.gateway.port)"]) { $1 }
        let (status, output) = try await Program.run(["serve"], environment: environment)
        #expect(status != 0 && output.contains("\(testBed.gateway.port)"), "\(output)")
    }

    @Test("a command whose output cannot be written says so, and fails without a crash", arguments: ["/dev/full", "&-"])
    func fullDisk(output: String) async throws {
        let shell = try Program(
            ["-c", "exec \"$0\" version >\(output)", Program.executable.path], executable: URL(fileURLWithPath: "/bin/sh"))
        #expect(try await shell.exit() == 74 && shell.output == "the standard output cannot be written\n", "\(shell.output)")
    }

    @Test("simulate-llm refuses a number that is no port", arguments: ["-1", "65536", "99999"])
    func noPort(text: String) async throws {
        let (status, output) = try await Program.run(["simulate-llm", "--port=\(text)"])
        #expect(status == 64 && output.contains("--port: \(text) is not a port"), "\(output)")
    }

    @Test("a file of rows that is missing or has a fault is named before anything is trained or measured")
    func rows() async throws {
        let folder = try Folder()
        try folder.write("rows.jsonl", "{\"text\": 1}\n")
        for (arguments, finding) in [
            (["train", "--domains", "/nowhere.jsonl"], "Error: /nowhere.jsonl cannot be read, or is not UTF-8"),
            (["evaluate", "--cross-check", "/nowhere.jsonl"], "Error: /nowhere.jsonl cannot be read, or is not UTF-8"),
            (["train", "--domains", folder.path + "/rows.jsonl"], "- \(folder.path)/rows.jsonl"),
        ] {
            // No folder of the product, so that more than this would be another error.
            let (status, output) = try await Program.run(arguments, environment: ["COACH_ROOT": "/nowhere"])
            #expect(status == 1 && output.contains(finding), "\(output)")
        }
    }

    @Test("version prints the version, and an unknown sub-command fails")
    func version() async throws {
        let (status, output) = try await Program.run(["version"])
        #expect(status == 0 && output.wholeMatch(of: /coach-gateway [0-9]+\.[0-9]+\.[0-9]+\n/) != nil)
        #expect(try await Program.run(["brew"]).status == 64)
    }
}
