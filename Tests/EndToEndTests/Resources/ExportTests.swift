import Foundation
import TestSupport
import Testing

@Suite("The export of an account", .paced)
struct ExportTests {
    /// Hundredths of a second of a processor, in the time of `window` or a little more.
    private static let idle = 10
    private static let window = Duration.milliseconds(250)
    private static let path = "/api/v1/me/export"

    @Test("has the avatars of the user's own personas as files, and those of nobody else")
    func avatars() async throws {
        let gateway = try await TestBed.shared().gateway
        let (creator, other) = (TestUser(gateway: gateway, role: "creator"), TestUser(gateway: gateway, role: "creator"))
        var names: [String] = []
        for (owner, count) in [(creator, 3), (other, 1)] {
            for number in 0..<count {
                let id = try #require(try await owner.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"])
                // The last one has no picture.
                guard owner.id == other.id || number < 2 else { continue }
                #expect(try await owner.browser.send("PUT", "/api/v1/personas/\(id)/avatar", body: AvatarFiles.pixel).status == 200)
                if owner.id == creator.id { names.append("avatars/\(id).png") }
            }
        }
        let answer = try await creator.send("GET", Self.path)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).zip")
        try Data(answer.body).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let script = """
            import base64, json, sys, zipfile
            z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None
            print(json.dumps({n: base64.b64encode(z.read(n)).decode() for n in z.namelist() if n.startswith('avatars/')}))
            """
        let files = JSONObject(try ChildProcess.run(["python3", "-c", script, file.path]))
        #expect(files.names == Set(names) && names.count == 2)
        for name in names { #expect(files[name] == Data(AvatarFiles.pixel).base64EncodedString()) }
    }

    @Test("of a user whose removal begins meanwhile breaks off, and does not end as a smaller archive")
    func removal() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let question = try await user.send("DELETE", "/api/v1/me")
        let token = try #require(question.error.object("details")["confirmation"])
        // More than the buffers between the gateway and this reader take.
        try await testBed.database.fresh.psql(
            """
            insert into conversations (user_id, id, last_seq) values ('\(user.id)', '\(user.id)', 20000);
            insert into messages (user_id, conversation_id, seq, role, content, token_count)
            select '\(user.id)', '\(user.id)', n, 'user', repeat(md5(n::text), 40), 1 from generate_series(1, 20000) n
            """)
        let request = user.browser.head("GET", Self.path, bodyCount: nil, headers: ["Connection": "close"])
        let port = testBed.gateway.port
        let wire = try await Wire.run {
            let wire = try Wire(port: port, timeout: 60)
            try wire.send(request)
            _ = try wire.receive(until: "account.jsonl")
            return wire
        }
        #expect(try await user.send("DELETE", "/api/v1/me?confirmation=\(token)").status == 202)
        let end = try await Wire.run {
            var end: [UInt8] = []
            while let chunk = try? wire.receive(), !chunk.isEmpty { end = Array((end + chunk).suffix(64)) }
            return end
        }
        #expect(!String(decoding: end, as: UTF8.self).contains("PK\u{5}\u{6}") && Array(end.suffix(5)) != Array("0\r\n\r\n".utf8))
    }

    /// COACH_TEST_EXPORT_MESSAGES=1000000: the full size, which takes minutes and 2 GB of disk.
    private static let messages = ProcessInfo.processInfo.environment["COACH_TEST_EXPORT_MESSAGES"].flatMap { Int($0) } ?? 50_000
    /// How much the gateway may grow, whatever the size of the export.
    private static let bound = 32 << 20
    private static let textLength = 1_280

    @Test("takes no more memory than a few pages, also while its reader pauses", .timeLimit(.minutes(30)))
    func memory() async throws {
        let database = try await Database.ofItsOwn()
        let gateway = try await Gateway(database: database.gatewayURL, simulator: try await TestBed.shared().simulator.url)
        let user = gateway.testUser()
        // Loads what every export uses.
        #expect(try await user.send("GET", Self.path).status == 200)
        try await database.fresh.psql(
            """
            insert into conversations (user_id, id, last_seq) values ('\(user.id)', '\(user.id)', \(Self.messages));
            insert into messages (user_id, conversation_id, seq, role, content, token_count)
            select '\(user.id)', '\(user.id)', n, 'user', repeat(md5(n::text), \(Self.textLength / 32)), 1
            from generate_series(1, \(Self.messages)) n
            """)
        let size = Self.messages * Self.textLength
        #expect(size > Self.bound, "an export that fits into the bound proves nothing")

        let memory = gateway.program.memory
        try memory.forgetPeak()
        let before = try memory.resident()
        let request = user.browser.head("GET", Self.path, bodyCount: nil, headers: ["Connection": "close"])
        let wire = try await Wire.run {
            let wire = try Wire(port: gateway.port, timeout: 60)
            try wire.send(request)
            wire.putBack(try wire.receive())
            return wire
        }
        // The reader pauses until the gateway does little more than its periodic work.
        var (time, since) = (try processorTime(gateway), ContinuousClock.now)
        try await eventually("a gateway that waits for its reader") {
            guard since.duration(to: .now) >= Self.window else { return false }
            let now = try processorTime(gateway)
            defer { (time, since) = (now, ContinuousClock.now) }
            return now - time < Self.idle
        }
        #expect(try memory.resident() - before < Self.bound)
        let (count, end) = try await Wire.run {
            var (count, end) = (0, [UInt8]())
            while case let chunk = try wire.receive(), !chunk.isEmpty {
                count += chunk.count
                end = Array((end + chunk).suffix(64))
            }
            return (count, end)
        }
        let growth = try memory.peak() - before
        #expect(
            count > size && String(decoding: end, as: UTF8.self).contains("PK\u{5}\u{6}") && Array(end.suffix(5)) == Array("0\r\n\r\n".utf8)
        )
        #expect(growth < Self.bound, "grew by \(growth >> 10) KiB for \(count >> 10) KiB")
        // A page that sorts all messages would read them again each time. PostgreSQL counts with a delay.
        let reads = "select coalesce(sum(idx_tup_read), 0)::bigint as read from pg_stat_user_indexes where relname = 'messages'"
        var read = 0
        try await eventually("the messages among PostgreSQL's counts") {
            read = Int(try await database.row(reads).number("read") ?? 0)
            return read >= Self.messages
        }
        #expect(read < 4 * Self.messages)
    }

    /// Of all threads of the process, in ticks.
    private func processorTime(_ gateway: Gateway) throws -> Int {
        let stat = try String(contentsOfFile: "/proc/\(gateway.program.identifier)/stat", encoding: .utf8)
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.dropFirst(11).prefix(2).compactMap { Int($0) }.reduce(0, +)
    }
}
