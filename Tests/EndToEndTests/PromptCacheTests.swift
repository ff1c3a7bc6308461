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
