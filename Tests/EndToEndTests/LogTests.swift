import Foundation
import TestSupport
import Testing

@Suite("The gateway's log", .paced)
struct LogTests {
    @Test("has one JSON object a line, the request id in every line of a turn, and no messages or secrets")
    func canaries() async throws {
        let testBed = try await TestBed.shared()
        let providerKey = "sk-canary-key-" + marker()
        let gateway = try await testBed.anotherGateway([
            "COACH_LOG_LEVEL": "trace", "OPENAI_API_KEY": providerKey, "OPENAI_BASE_URL": testBed.simulator.url,
            "OPENAI_MODEL": "sim-openai",
        ])
        let testUser = gateway.testUser()
        let (said, answered, mail, name, refused) = (marker(), marker(), marker(), marker(), marker())
        let token = Token(user: testUser.id).with([
            "email": "\(mail)@example.org", "phone": "+1 555 \(name)",
            "user_metadata": ["full_name": name, "email": "\(mail)@example.org"],
        ]).text
        func chat(_ message: String, _ more: [String: Any] = [:], id: String) async throws -> Answer {
            try await testUser.chat(message, more, headers: ["Authorization": "Bearer \(token)", "X-Request-ID": id])
        }

        // A complete, an interrupted and a failed turn, and errors of every kind.
        let whole = try await chat("\(said) \(sim(["text": "\(answered) and more"]))", id: "req-whole")
        #expect(whole.content == "\(answered) and more")
        #expect(whole.first("usage")?["provider"] == "openai")
        _ = try await chat("\(said) \(sim(["text": answered, "cut_after_tokens": 1]))", id: "req-cut")
        _ = try await chat("\(said) \(sim(["http_error": ["status": 400, "message": refused]]))", id: "req-failed")
        _ = try await chat("I want to kill myself \(said) \(sim(["words": 2]))", id: "req-danger")
        _ = try await chat(said, ["conversation_id": UUID().uuidString, "share_token": said], id: "req-refused")
        _ = try await chat(said, ["locale": 7, "country": said], id: "req-invalid")
        _ = try await testUser.browser.post("{\"message\":\"\(said)", headers: ["Authorization": "Bearer \(token)"])
        _ = try await testUser.browser.send("GET", "/p/\(said)?token=\(said)", headers: ["Cookie": said, "User-Agent": said])
        let garbage = "Bearer \(said).\(said).\(said)"
        _ = try await testUser.browser.post("{}", headers: ["Authorization": garbage, "apikey": said])
        gateway.program.signal(SIGTERM)
        #expect(try await gateway.program.exit() == 0)

        let secrets = [
            said, answered, mail, name, refused, providerKey, token, String(token.split(separator: ".")[1]), Token.secret,
            Database.password,
        ]
        for secret in secrets { #expect(!gateway.program.output.contains(secret), "\(secret)") }
        for line in gateway.program.lines {
            let object = JSONObject(line)
            #expect(object["time"]?.last == "Z" && object["level"] != nil && object["message"] != nil, "\(line)")
        }
        for id in ["req-whole", "req-cut", "req-failed", "req-danger"] {
            let lines = gateway.log.filter { $0["request_id"] == id }
            #expect(Set(lines.compactMap { $0["message"] }).isSuperset(of: ["request", "turn ended"]), "\(id)")
        }
        let requests = gateway.log.filter { $0["message"] == "request" }
        #expect(requests.count > 8 && requests.allSatisfy { $0.number("status") != nil && $0.number("ms") != nil })
        let ended = gateway.log.filter { $0["message"] == "turn ended" }
        #expect(ended.count == 4 && ended.allSatisfy { $0["request_id"] != nil && $0["turn_id"] != nil })
        #expect(ended.allSatisfy { $0.number("tier") != nil && $0.number("bytes") != nil && $0.number("duration_ms") != nil })
    }

    @Test("in a pipe that is not read, or whose reader has ended, does not block turns", arguments: [false, true])
    func unread(isGone: Bool) async throws {
        let testBed = try await TestBed.shared()
        let log = Pipe()
        let environment = Gateway.environment(database: testBed.database.gatewayURL, simulator: testBed.simulator.url)
        let program = try Program(["serve"], environment: try StateFolder().state(environment), log: log)
        let port = try await Self.port(in: log)
        if isGone { try log.fileHandleForReading.close() }
        let browser = Browser(port: port, token: Token(user: UUID().uuidString.lowercased()).text)
        try await eventually("readiness") { try await browser.send("GET", "/readyz").status == 200 }
        try await Wire.run {
            let wire = try Wire(port: port, timeout: 5)
            // Each writes a line of more than 150 bytes: together several times a pipe's capacity.
            for _ in 0..<2000 {
                try wire.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try wire.readAnswer().status == 200)
            }
        }
        for _ in 0..<3 {
            expectDone(try await browser.send("POST", Browser.chatPath, body: TestUser.body("Hello \(sim(["words": 3]))"), timeout: 5))
        }
        // The process ends although its last lines cannot be written.
        program.signal(SIGTERM)
        #expect(try await program.exit() == 0)
    }

    /// Reads a log up to the line with the port, and no more.
    private static func port(in log: Pipe) async throws -> Int {
        try await Wire.run {
            var text = ""
            while true {
                let more = log.fileHandleForReading.availableData
                guard !more.isEmpty else { throw Program.Failure(description: "it ended without listening:\n\(text)") }
                text += String(decoding: more, as: UTF8.self)
                if let match = text.firstMatch(of: /listening[^\n]*?"port":([0-9]+)/), let port = Int(match.1) { return port }
            }
        }
    }

    @Test("has notices of the database at debug alone")
    func notices() async throws {
        let database = try await Database.ofItsOwn()
        try await database.fresh.psql(
            """
            create function public.raise_notice() returns trigger language plpgsql as $$
            begin
                raise notice 'a user was added' using errcode = '01T01';
                return null;
            end $$;
            create trigger raise_notice after insert on public.users for each row execute function public.raise_notice();
            """)
        for (level, count) in [("debug", 1), ("info", 0)] {
            let gateway = try await Gateway(
                database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url,
                environment: ["COACH_LOG_LEVEL": level])
            expectDone(try await gateway.testUser().chat("Hello \(sim(["words": 2]))"))
            gateway.program.signal(SIGTERM)
            #expect(try await gateway.program.exit() == 0)
            let notices = gateway.log.filter { $0["message"] == "database notice" && $0["sqlstate"] == "01T01" }
            #expect(notices.count == count, "\(gateway.program.output)")
            #expect(
                notices.allSatisfy { $0["metadata.message"] == "a user was added" && $0["level"] == "debug" && $0["severity"] == "NOTICE" })
        }
    }
}
