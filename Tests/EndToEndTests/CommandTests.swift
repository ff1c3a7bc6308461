import Foundation
import TestSupport
import Testing

@Suite("The command line", .paced)
struct CommandTests {
    private static let commands = ["serve", "migrate", "seed", "check", "token", "chat", "simulate-llm", "version"]

    @Test("explains every sub-command", arguments: [""] + commands)
    func help(command: String) async throws {
        let (status, output) = try await Program.run(command.isEmpty ? ["--help"] : [command, "--help"])
        #expect(status == 0 && output.contains("USAGE: coach-gateway") && output.contains("--help"))
        if command.isEmpty { for name in Self.commands { #expect(output.contains(name), "\(name)") } }
    }

    @Test("check lists several findings at once, each with its key or file, and fails")
    func check() async throws {
        let root = try Folder.copyOfRoot()
        try root.write("domains/fitness.json", "{}")
        try root.write("deploy/prices.json", "[]")
        let (status, output) = try await Program.run(
            ["check"],
            environment: [
                "COACH_ROOT": root.path, "COACH_PORT": "http", "COACH_ENV": "staging", "COACH_JWT_SECRET": "short",
                "COACH_DRAIN_SECONDS": "-1", "DATABASE_URL": "postgres//nowhere", "COACH_JWKS_FILE": "/nope",
                "COACH_JWKS_URL": "http://auth.example.com/jwks",
            ])
        #expect(status != 0)
        for expected in [
            "COACH_PORT", "COACH_ENV", "COACH_JWT_SECRET", "COACH_DRAIN_SECONDS", "DATABASE_URL", "COACH_JWKS_FILE", "COACH_JWKS_URL",
            "fitness.json", "prices",
        ] {
            #expect(output.contains(expected), "\(expected) in\n\(output)")
        }
        #expect(!output.contains("short\"") && output.split(separator: "\n").count >= 6)
    }

    @Test("check finds nothing wrong with the shared stage, and names a database that cannot be reached or is not migrated")
    func checkDatabase() async throws {
        let stage = try await Stage.shared()
        let good = Gateway.environment(database: stage.database.gatewayURL, simulator: stage.simulator.url)
        let (status, output) = try await Program.run(["check"], environment: good)
        #expect(status == 0 && output.contains("no findings"), "\(output)")

        let superuser = try await Program.run(["check"], environment: good.merging(["DATABASE_URL": stage.database.ownerURL]) { $1 })
        #expect(superuser.status != 0 && superuser.output.contains("row-level security"), "\(superuser.output)")

        let empty = try await FreshDatabase()
        let unmigrated = try await Program.run(["check"], environment: good.merging(["DATABASE_URL": empty.url]) { $1 })
        #expect(unmigrated.status != 0 && unmigrated.output.contains("migrate"), "\(unmigrated.output)")

        let gone = try await Program.run(
            ["check"], environment: good.merging(["DATABASE_URL": "postgres://coach_gateway:secret-word@127.0.0.1:1/x"]) { $1 })
        #expect(gone.status != 0 && gone.output.contains("DATABASE_URL") && !gone.output.contains("secret-word"), "\(gone.output)")
    }

    @Test("token mints what the gateway accepts, with role and lifetime")
    func token() async throws {
        let stage = try await Stage.shared()
        let user = UUID().uuidString.lowercased()
        let environment = ["COACH_ENV": "development", "COACH_JWT_SECRET": Token.secret]
        let text = try await Program.succeed(["token", "--user", user, "--role", "creator", "--ttl", "15m"], environment: environment)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let answer = try await Browser(port: stage.gateway.port, token: text).post("{\"message\":\"hi\",\"domain\":\"no\"}")
        #expect(answer.status == 422 && answer.errorCode == "VAL_3003")
        let saved = try await Browser(port: stage.gateway.port, token: text).post(#"{"message":"hello [[sim {\"words\":1}]]"}"#)
        #expect(saved.status == 200)
        #expect(try await stage.database.messages(of: user, role: "user").count == 1)
        for arguments in [["--user", "me"], ["--ttl", "soon"], ["--role", "root"]] {
            #expect(try await Program.run(["token"] + arguments, environment: environment).status != 0, "\(arguments)")
        }
    }

    @Test("token refuses in production, which is the default")
    func tokenInProduction() async throws {
        for environment in [["COACH_ENV": "production"], [:]] {
            let (status, output) = try await Program.run(
                ["token"], environment: environment.merging(["COACH_JWT_SECRET": Token.secret]) { $1 })
            #expect(status != 0 && output.contains("production") && !output.contains("eyJ"), "\(output)")
        }
    }

    @Test("migrate may be run again, and by two at once; seed may be run again")
    func migrateTwice() async throws {
        let database = try await FreshDatabase()
        let environment = ["COACH_MIGRATION_URL": database.url]
        async let one = Program.run(["migrate"], environment: environment)
        async let two = Program.run(["migrate"], environment: environment)
        let both = try await [one, two]
        #expect(both.map(\.status) == [0, 0], "\(both)")
        #expect(both.count { $0.output.contains("applied 00001_initial_schema.sql") } == 1)
        let again = try await Program.run(["migrate"], environment: environment)
        #expect(again.status == 0 && again.output.contains("up to date"))
        for _ in 0..<2 { try await Program.succeed(["seed"], environment: environment) }
        #expect(try await database.psql("select count(*) from coaching_personas") == "3")
    }

    @Test("migrate names an old migration that was edited")
    func editedMigration() async throws {
        let database = try await FreshDatabase()
        let root = try Folder.copyOfRoot()
        let environment = ["COACH_MIGRATION_URL": database.url, "COACH_ROOT": root.path]
        try await Program.succeed(["migrate"], environment: environment)
        let name = "db/migrations/00003_usage_logs.sql"
        try root.write(name, try String(contentsOfFile: root.path + "/" + name, encoding: .utf8) + "\n-- changed\n")
        let (status, output) = try await Program.run(["migrate"], environment: environment)
        #expect(status != 0 && output.contains("00003_usage_logs"), "\(output)")
    }

    @Test("an unknown key of the configuration file is named, and a secret in it refused")
    func configurationFile() async throws {
        let folder = try Folder()
        try folder.write("gateway.json", #"{"COACH_PROT": 8080, "COACH_JWT_SECRET": "from-a-file", "COACH_MAX_TURNS": true}"#)
        for command in ["serve", "check", "migrate"] {
            let (status, output) = try await Program.run([command, "--config", folder.path + "/gateway.json"])
            #expect(status != 0 && output.contains("COACH_PROT") && output.contains("COACH_JWT_SECRET"), "\(output)")
            #expect(!output.contains("from-a-file"))
        }
        let missing = try await Program.run(["serve", "--config", folder.path + "/none.json"])
        #expect(missing.status != 0 && missing.output.contains("none.json"))
    }

    @Test("the environment wins over the configuration file")
    func precedence() async throws {
        let folder = try Folder()
        try folder.write("gateway.json", #"{"COACH_PORT": "http", "COACH_HOST": "127.0.0.1"}"#)
        let arguments = ["check", "--config", folder.path + "/gateway.json"]
        #expect(try await Program.run(arguments).output.contains("COACH_PORT"))
        #expect(try await Program.run(arguments, environment: ["COACH_PORT": "0"]).output.contains("COACH_PORT") == false)
    }

    @Test("serve says which value cannot be read, and what is missing, and exits")
    func serveWithoutSettings() async throws {
        let port = try await Program.run(["serve"], environment: ["COACH_PORT": "eighty"])
        #expect(port.status == 78 && port.output.contains("COACH_PORT") && port.output.contains("eighty"))
        let nothing = try await Program.run(["serve"], environment: ["COACH_JWT_SECRET": Token.secret])
        #expect(nothing.status == 78 && nothing.output.contains("DATABASE_URL"))
        let noSecret = try await Program.run(["serve"], environment: ["DATABASE_URL": "postgres://x@127.0.0.1:1/x"])
        #expect(noSecret.status == 78 && noSecret.output.contains("COACH_JWT_SECRET"))
    }

    @Test("serve names a port that is taken, and exits")
    func portTaken() async throws {
        let stage = try await Stage.shared()
        let environment = Gateway.environment(database: stage.database.gatewayURL, simulator: stage.simulator.url)
            .merging(["COACH_PORT": "\(stage.gateway.port)"]) { $1 }
        let (status, output) = try await Program.run(["serve"], environment: environment)
        #expect(status != 0 && output.contains("\(stage.gateway.port)"), "\(output)")
    }

    @Test("version prints it, and an unknown sub-command is refused")
    func version() async throws {
        let (status, output) = try await Program.run(["version"])
        #expect(status == 0 && output.wholeMatch(of: /coach-gateway [0-9]+\.[0-9]+\.[0-9]+\n/) != nil)
        #expect(try await Program.run(["brew"]).status == 64)
    }
}
