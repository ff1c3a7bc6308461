import TestSupport
import Testing

@Suite("The cache of providers", .paced)
struct PromptCacheTests {
    private static let turns = 20
    /// OpenAI caches prefixes in steps of 128 tokens of about four bytes.
    private static let step = 128 * 4

    private func commonPrefix(_ a: [UInt8], _ b: [UInt8]) -> Int { zip(a, b).prefix { $0 == $1 }.count }

    private func bytes(_ request: Simulator.Request) -> [UInt8] {
        request.messages.flatMap { Array("\($0.role)\n\($0.content)\n".utf8) }
    }

    @Test("serves most of the input of a conversation, because the stable parts of the prompt come first")
    func conversation() async throws {
        let testBed = try await TestBed.shared()
        let user = testBed.testUser()
        let mark = marker()
        var body = ["domain": "mindset"]
        for turn in 1...Self.turns {
            let answer = try await user.chat("\(mark) \(turn): I keep putting off my work. \(sim(["words": 30]))", body)
            expectDone(answer)
            body["conversation_id"] = answer.first("start")?["conversation_id"]
        }
        let prompts = try await testBed.simulator.requests(containing: mark).filter { !$0.system.contains("notes that a coach") }.map(bytes)
        #expect(prompts.count == Self.turns)
        let total = prompts.reduce(0) { $0 + $1.count }
        let cached = zip(prompts, prompts.dropFirst()).reduce(0) { $0 + commonPrefix($1.0, $1.1) / Self.step * Self.step }
        print(
            "\(Self.turns) turns: \(cached) of \(total) bytes of input (\(cached * 100 / total) %) are prefixes that the provider has seen")
        #expect(cached * 10 > total * 7, "\(cached) of \(total)")
    }

    @Test(
        "is in the ledger and in operators' costs: what was read from it, and what was written where the provider reports that",
        arguments: ["openai", "anthropic"])
    func ledger(_ dialect: String) async throws {
        let (database, simulator) = (try await Database.ofItsOwn(), try await Simulator())
        let root = try Folder.copyOfRoot()
        try root.edit("deploy/models.json") { file in
            file["providers"] = ["cached": ["dialect": dialect, "base_url": "http://127.0.0.1:\(simulator.port)", "api_key_env": "KEY"]]
            file["routes"] = ["default": [["provider": "cached", "model": "sim-cached", "max_output_tokens": 1024]]]
        }
        try await simulator.always(["words": 40, "prefix_cache": true])
        let gateway = try await Gateway(database: database.gatewayURL, simulator: nil, environment: root.environment)
        let user = gateway.testUser()
        let text = String(repeating: "I keep putting off my work. ", count: 60)
        var body = ["domain": "mindset"]
        for turn in 1...6 {
            let answer = try await user.chat("\(turn): \(text)", body)
            expectDone(answer)
            body["conversation_id"] = answer.first("start")?["conversation_id"]
        }
        let rows = try await database.rows(
            "select * from model_calls where user_id = '\(user.id)' and purpose = 'chat' order by created_at")
        let (read, written) = (rows.map { $0.number("cached_input_tokens") ?? 0 }, rows.map { $0.number("cache_write_tokens") ?? 0 })
        #expect(read.count == 6 && read.first == 0 && zip(read.dropFirst(), read.dropFirst(2)).allSatisfy { $0 < $1 }, "\(read)")
        #expect((written.reduce(0, +) > 0) == (dialect == "anthropic"), "\(written)")
        let total = rows.reduce(0) { $0 + ($1.number("tokens_in") ?? 0) }
        #expect(read.reduce(0, +) * 2 > total, "\(read) of \(total)")
        let operatorUser = TestUser(gateway: gateway, role: "operator")
        try await eventually("the figures") {
            let costs = try await operatorUser.send("GET", "/api/v1/operator/costs?group_by=model")
            return costs.list.reduce(0) { $0 + ($1.number("cached_input_tokens") ?? 0) } == read.reduce(0, +)
        }
    }

    @Test("is shared by users: what differs between them comes behind what does not")
    func users() async throws {
        let testBed = try await TestBed.shared()
        var systems: [[UInt8]] = []
        for style in ["short", "detailed"] {
            let user = testBed.testUser()
            let mark = marker()
            try await testBed.database.fresh.psql(
                """
                insert into users (id) values ('\(user.id)');
                insert into context_profiles (user_id, goals) values ('\(user.id)', '["\(style) answers"]')
                """)
            expectDone(try await user.chat("Hello \(mark) \(sim(["words": 2]))", ["domain": "mindset"]))
            systems.append(Array(try #require(try await testBed.simulator.requests(containing: mark).last).system.utf8))
        }
        #expect(systems[0] != systems[1], "the profiles differ")
        let shared = commonPrefix(systems[0], systems[1])
        #expect(shared * 10 > systems[0].count * 7, "\(shared) of \(systems[0].count)")
    }
}
