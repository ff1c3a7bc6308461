import Foundation
import TestSupport
import Testing

@Suite("The command check", .paced)
struct CheckCommandTests {
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

    @Test("check reports a missing model")
    func checkModels() async throws {
        let testBed = try await TestBed.shared()
        let root = try Folder.copyOfRoot()
        try FileManager.default.removeItem(atPath: root.path + "/domains/routing.bin")
        let environment = Gateway.environment(database: testBed.database.gatewayURL, simulator: testBed.simulator.url)
        let (status, output) = try await Program.run(["check"], environment: environment.merging(["COACH_ROOT": root.path]) { $1 })
        #expect(status != 0 && output.contains("domains/routing.bin: the routing terms alone score domains"), "\(output)")
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
            "DATABASE_URL: db.invalid:5432 is not this machine: set sslmode=verify-full&sslrootcert=/etc/ssl/certs/",
            "no price for openai unheard-of",
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
}
