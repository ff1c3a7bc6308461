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

    @Test("check prints all findings, each with its key or file, and fails")
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

    @Test("check passes for the shared database, and reports an unreachable and an unmigrated database")
    func checkDatabase() async throws {
        let testBed = try await TestBed.shared()
        let good = Gateway.environment(database: testBed.database.gatewayURL, simulator: testBed.simulator.url)
        let (status, output) = try await Program.run(["check"], environment: good)
        #expect(status == 0 && output.contains("no findings"), "\(output)")

        let superuser = try await Program.run(["check"], environment: good.merging(["DATABASE_URL": testBed.database.ownerURL]) { $1 })
        #expect(superuser.status != 0 && superuser.output.contains("row-level security"), "\(superuser.output)")

        let empty = try await FreshDatabase()
        let unmigrated = try await Program.run(["check"], environment: good.merging(["DATABASE_URL": empty.url]) { $1 })
        #expect(unmigrated.status != 0 && unmigrated.output.contains("migrate"), "\(unmigrated.output)")

        let gone = try await Program.run(
            ["check"], environment: good.merging(["DATABASE_URL": "postgres://coach_gateway:secret-word@127.0.0.1:1/x"]) { $1 })
        #expect(gone.status != 0 && gone.output.contains("DATABASE_URL") && !gone.output.contains("secret-word"), "\(gone.output)")
    }

    @Test("check and serve distinguish wrong password, closed port, unknown host, certificate and kind of server, without the secret")
    func checkConnections() async throws {
        let cluster = try await ThrowawayCluster.start(passwords: true)
        let port = cluster.port
        let (testBed, primary) = (try await TestBed.shared(), try await FreshDatabase())
        for (url, finding) in [
            ("postgres://coach_gateway:secret-word@127.0.0.1:\(port)/postgres", "the role or its password is refused"),
            ("postgres://coach_gateway:secret-word@127.0.0.1:1/x", "nothing listens on this host and port"),
            ("postgres://coach_gateway:secret-word@host.invalid/x", "the host is unknown"),
            ("postgres://coach_gateway:secret-word@127.0.0.1:\(port)/x?sslmode=require", "TLS or a certificate is refused"),
            (primary.url + "?target_session_attrs=standby", "no server takes writes, or meets target_session_attrs"),
        ] {
            let environment = Gateway.environment(database: url, simulator: "http://127.0.0.1:1/v1")
            let check = try await Program.run(["check"], environment: environment)
            #expect(check.status != 0 && check.output.contains("DATABASE_URL: \(finding)"), "\(check.output)")
            #expect(!check.output.contains("secret-word"))
            let serve = try Program(["serve"], environment: environment)
            try await eventually("the reason in\n\(serve.output)") { serve.output.contains(finding) }
            #expect(!serve.output.contains("secret-word"))
            // A gateway that serves, and only listens for notifications in vain.
            let serving = try await testBed.anotherGateway(["DATABASE_LISTEN_URL": url])
            try await eventually("the reason in\n\(serving.program.output)") {
                serving.program.output.contains("DATABASE_LISTEN_URL: \(finding)")
            }
            #expect(try await serving.readiness() == 200 && !serving.program.output.contains("secret-word"))
        }
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

    @Test("check reports a repeated member, a trailing comma and an unreadable file")
    func checkFiles() async throws {
        let root = try Folder.copyOfRoot()
        func edit(_ path: String, _ change: (String) -> String) throws {
            try root.write(path, change(try String(contentsOfFile: root.path + "/" + path, encoding: .utf8)))
        }
        try edit("deploy/tiers.json") { "{\"grace_minutes\": 1," + $0.dropFirst() }
        try root.write("deploy/prices.json", "{\n  \"prices\": [1,]\n}")
        try edit("domains/fitness.json") { "{\"id\": \"fitness\"," + $0.dropFirst() }
        try FileManager.default.removeItem(atPath: root.path + "/prompts/persona.md")
        try FileManager.default.createDirectory(atPath: root.path + "/prompts/persona.md", withIntermediateDirectories: false)
        try FileManager.default.removeItem(atPath: root.path + "/deploy/models.json")
        try root.write("domains/safety/protocol.md", "\n")
        let (status, output) = try await Program.run(["check"], environment: ["COACH_ROOT": root.path])
        #expect(status != 0)
        for finding in [
            "tiers: cannot be read: line ", "a member is named twice: grace_minutes",
            "prices: cannot be read: line 2, column 16: ']' cannot stand here",
            "prompts/persona.md: cannot be read", "fitness.json: cannot be read: line ",
            "deploy/models.json: cannot be read: No such file or directory", "protocol.md: must not be empty",
        ] {
            #expect(output.contains(finding), "\(finding) in\n\(output)")
        }
    }

    @Test("check reports a prompt with an unclosed placeholder")
    func checkPrompts() async throws {
        let root = try Folder.copyOfRoot()
        let prompt = try String(contentsOfFile: root.path + "/prompts/system.md", encoding: .utf8)
        try root.write("prompts/system.md", prompt + "\n{{name")
        let (status, output) = try await Program.run(["check"], environment: ["COACH_ROOT": root.path])
        #expect(status != 0 && output.contains("system.md: has a {{ without }}"), "\(output)")
    }

    @Test("check reports invalid origins, unverified database hosts, models without a price, unused keys and key sets out of reach")
    func checkWarnings() async throws {
        let root = try Folder.copyOfRoot()
        try root.write("keys.json", #"{"keys":[{"kty":"oct","kid":"a","k":"AA"},{"kty":"RSA"}]}"#)
        var environment = Gateway.environment(
            database: "postgres://coach_gateway:secret-word@db.invalid/x?sslmode=require", simulator: nil)
        environment["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1"
        environment["OPENAI_MODEL"] = "unheard-of"
        environment["COACH_JWKS_FILE"] = root.path + "/keys.json"
        environment["PLAY_PUSH_AUDIENCE"] = "https://coach.example"
        environment["PLAY_PUSH_EMAIL"] = "push@example"
        environment["PLAY_PUSH_KEYS_URL"] = "http://127.0.0.1:1/certs"
        let (status, output) = try await Program.run(["check"], environment: environment)
        #expect(status != 0)
        for finding in [
            "DATABASE_URL: db.invalid:5432 is not this machine: set sslmode=verify-full", "no price for openai unheard-of",
            "COACH_JWKS_FILE: no key of the set can be used: key 1: kid a is of a kind that is not accepted; key 2: it has no kid",
            "PLAY_PUSH_KEYS_URL: the key set's server could not be reached",
        ] {
            #expect(output.contains(finding), "\(finding) in\n\(output)")
        }
        environment["COACH_CORS_ORIGINS"] = "https://app.example, *, https://app.example/"
        let origins = try await Program.run(["check"], environment: environment)
        #expect(
            origins.output.contains("COACH_CORS_ORIGINS: * is not supported") && origins.output.contains("no slash"), "\(origins.output)")
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

    @Test("migrate sends a verifier: the password is neither in the statistics of statements nor in the server's log")
    func passwordOfTheRole() async throws {
        let cluster = try await ThrowawayCluster.start(settings: [
            "shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track_utility": "on", "log_statement": "all",
        ])
        let (database, password) = (try await FreshDatabase(at: cluster.url()), "kept-from-the-server-0123456789")
        try await database.psql("create extension pg_stat_statements schema public")
        let environment = ["COACH_MIGRATION_URL": database.url, "COACH_DATABASE_PASSWORD": password]
        try await Program.succeed(["migrate"], environment: environment)
        let role = try await database.psql("select rolpassword from pg_authid where rolname = 'coach_gateway'")
        #expect(role.hasPrefix("SCRAM-SHA-256$4096:"))
        let statements = try await database.psql("select string_agg(query, ' ') from public.pg_stat_statements")
        #expect(statements.localizedCaseInsensitiveContains("alter role coach_gateway") && !statements.contains(password))
        #expect(cluster.log.localizedCaseInsensitiveContains("alter role coach_gateway") && !cluster.log.contains(password))
    }

    @Test("migrate can be run repeatedly and concurrently, and seed repeatedly")
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

    @Test("migrate, seed and reprice say whose connection they need, and change nothing with another one")
    func notTheOwner() async throws {
        let database = try await TestBed.shared().database
        let root = try Folder.copyOfRoot()
        try root.write("db/migrations/99999_more.sql", "create table gateway.more ();\n")
        let commands = [["migrate"], ["seed"], ["reprice", "--from", "2026-03-01", "--to", "2026-03-02"]]
        for arguments in commands {
            let gateway = try await Program.run(arguments, environment: ["DATABASE_URL": database.gatewayURL, "COACH_ROOT": root.path])
            #expect(gateway.status == 1, "\(gateway.output)")
            #expect(gateway.output.contains("DATABASE_URL: its role does not own the schema: set COACH_MIGRATION_URL"), "\(gateway.output)")
            #expect(!gateway.output.contains("changed"), "\(gateway.output)")
            let gone = try await Program.run(
                arguments, environment: ["COACH_MIGRATION_URL": "postgres://owner:secret-word@127.0.0.1:1/x"])
            #expect(gone.status == 1 && !gone.output.contains("secret-word"), "\(gone.output)")
            #expect(gone.output.contains("\(arguments[0]): COACH_MIGRATION_URL: nothing listens on this host and port"), "\(gone.output)")
        }
    }

    @Test("migrate with the gateway's role succeeds when there is nothing to do, as before serve on each instance")
    func nothingToMigrate() async throws {
        let database = try await TestBed.shared().database
        let output = try await Program.succeed(["migrate"], environment: ["DATABASE_URL": database.gatewayURL])
        #expect(output == "the database is up to date\n")
    }

    @Test("migrate reports an applied migration that was edited")
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
