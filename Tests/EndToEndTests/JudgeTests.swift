import Foundation
import TestSupport
import Testing

extension TestBed {
    /// Another gateway whose default route is these simulators, `first`, `second` and so on; `judge` looks at every message again.
    func gateway(routing simulators: [Simulator], judge: Simulator? = nil, environment: [String: String] = [:]) async throws -> Gateway {
        let root = try Folder.copyOfRoot()
        func provider(_ simulator: Simulator) -> [String: Any] { ["dialect": "openai", "base_url": simulator.url, "api_key_env": "KEY"] }
        let names = ["first", "second", "third"]
        try root.edit("deploy/models.json") { models in
            var providers: [String: Any] = [:]
            for (name, simulator) in zip(names, simulators) { providers[name] = provider(simulator) }
            func route(_ names: [String]) -> [[String: Any]] {
                names.map { ["provider": $0, "model": "sim-coach-1", "max_output_tokens": 1024] }
            }
            var routes = ["default": route(Array(names.prefix(simulators.count)))]
            if let judge {
                providers["judge"] = provider(judge)
                routes["judge"] = route(["judge"])
                models["judge"] = ["route": "judge", "lowest_score": 0]
            }
            models["providers"] = providers
            models["routes"] = routes
        }
        return try await Gateway(
            database: database.gatewayURL, simulator: nil,
            environment: ["COACH_ROOT": root.path, "KEY": "any"].merging(environment) { $1 })
    }
}

extension Simulator {
    /// What it does with every request from now on.
    func always(_ script: [String: Any]) async throws {
        let quick: [String: Any] = ["first_token_ms": 0, "pace_ms": 0]
        let body = try JSONSerialization.data(withJSONObject: quick.merging(script) { $1 })
        let answer = try await Browser(port: port).send("PUT", "/simulator/script", body: Array(body))
        #expect(answer.status == 200, "\(answer.text)")
    }
}

@Suite("The second look", .serialized, .paced)
struct JudgeTests {
    /// A gateway with a judge, and the simulators in both roles.
    private static let testBed = Task {
        let (coach, judge) = (try await Simulator(), try await Simulator())
        return (coach: coach, judge: judge, gateway: try await TestBed.shared().gateway(routing: [coach], judge: judge))
    }

    private static let grey = "We cleared out the garage on Saturday and paid all our bills"

    @Test("raises a message that shows no card by itself, before the start, and its cost is in the ledger as judge")
    func raises() async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["text": "Are you thinking about suicide?"])
        try await judge.always(["text": #"{"tier": 2, "category": "suicide", "subject": "self"}"#])
        let (user, word) = (gateway.testUser(), marker())
        let answer = try await user.chat("\(Self.grey) \(word)", ["country": "US"])
        #expect(answer.eventTypes == ["start", "safety", "token", "usage", "done"])
        #expect(answer.first("safety")?.fields.texts("categories") == ["suicide"])
        #expect(answer.first("start")?.fields.isNull("domain") == true)
        let asked = try #require(try await judge.requests(containing: word).first)
        #expect(asked.messages.last?.content.hasPrefix("<user_message>") == true)
        let prompt = try #require(try await coach.requests(containing: word).first)
        #expect(prompt.system.contains("A person may be in danger"))
        let usage = try await TestBed.shared().database.usage(of: user.id)
        #expect(usage.compactMap { $0["purpose"] }.sorted() == ["chat", "judge"])
        let event = try await TestBed.shared().database.row(
            "select e.* from gateway.crisis_events e join users u using (account_id) where u.id = '\(user.id)'")
        #expect(event["stage"] == "judge" && event.texts("patterns").contains("judge.suicide"))
    }

    @Test("reads what was said before, as well when the client keeps the conversation")
    func earlierMessages() async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["text": "How many did you find?"])
        try await judge.always(["text": #"{"tier": 0}"#])
        let (user, first, second, third) = (gateway.testUser(), marker(), marker(), marker())
        let start = try #require(try await user.chat("\(Self.grey) \(first)").first("start")?.fields)
        expectDone(try await user.chat("six of them \(second)", ["conversation_id": try #require(start["conversation_id"])]))
        let asked = try #require(try await judge.requests(containing: second).first?.messages.last)
        let said = "<person>\n\(Self.grey) \(first)\n</person>\n<coach>\nHow many did you find?\n</coach>"
        let newest = "<user_message>\nsix of them \(second)\n</user_message>"
        #expect(asked.content == "<earlier_messages>\n\(said)\n</earlier_messages>\n\n\(newest)")
        let kept = ["We sold the car", "six of them \(third)"].map { ["role": "user", "content": $0] }
        let answer = try await user.browser.send(
            "POST", "/v1/chat/completions", body: Array(try JSONSerialization.data(withJSONObject: ["model": "coach", "messages": kept])))
        #expect(answer.status == 200)
        let content = try #require(try await judge.requests(containing: third).first?.messages.last).content
        #expect(content.hasPrefix("<earlier_messages>\n<person>\nWe sold the car\n</person>\n</earlier_messages>"))
    }

    @Test("tokens and times of both calls are on the metrics page, as in the ledger, and without prices they are one turn")
    func metrics() async throws {
        let (coach, judge, _) = try await Self.testBed.value
        try await coach.always(["text": "Good."])
        try await judge.always(["text": #"{"tier": 0}"#])
        let testBed = try await TestBed.shared()
        let gateway = try await testBed.gateway(routing: [coach], judge: judge, environment: ["COACH_METRICS_LISTEN": "127.0.0.1:0"])
        let user = gateway.testUser()
        expectDone(try await user.chat("Plan my week"))
        let ledger = try await testBed.database.row(
            """
            select count(*) as calls, sum(input_tokens)::bigint as input, sum(output_tokens)::bigint as output
            from model_calls where user_id = '\(user.id)'
            """)
        #expect(ledger.number("calls") == 2)
        let page = try await MetricsPage(port: try await gateway.metricsPort())
        #expect(page.sum("coach_unpriced_turns_total") == 1)
        for type in ["input", "output"] {
            #expect(
                page.sum("gen_ai_client_token_usage_sum", "gen_ai_token_type=\"\(type)\"") == ledger.number(type).map(Double.init),
                "\(type)")
        }
        #expect(page.sum("gen_ai_client_operation_duration_seconds_count") == 2)
        // Those of the turn are the call's that answered.
        #expect(page.sum("gen_ai_server_time_to_first_token_seconds_count") == 1)
    }

    @Test("raises to the acute card with its opening, and the state stays")
    func acute() async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["text": "Are you alone?"])
        try await judge.always(["text": #"Sure: {"tier": 3, "category": "suicide"}"#])
        let user = gateway.testUser()
        let answer = try await user.chat(Self.grey, ["country": "US"])
        #expect(answer.first("safety")?.fields["severity"] == "acute" && answer.content.hasPrefix("I'm really glad you told me"))
        let states = try await TestBed.shared().database.rows("select level from safety_states where user_id = '\(user.id)'")
        #expect(states.map { $0.number("level") } == [3])
    }

    @Test("danger that it finds is saved while the answer is still awaited")
    func saved() async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["hang": true])
        try await judge.always(Self.danger)
        let user = gateway.testUser()
        async let answer = user.chat(Self.grey, ["country": "US"])
        #expect(try await user.stop(try await Self.turnWithSavedDanger(of: user)).status == 200)
        #expect(try await answer.first("safety") != nil)
    }

    @Test("danger that it finds only at the second attempt is saved then")
    func savedAtRetry() async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["http_error": ["status": 400]])
        try await judge.always(["text": #"{"tier": 0}"#])
        let user = gateway.testUser()
        #expect(try await user.chat(Self.grey, ["country": "US"]).first("error") != nil)
        let turn = try #require(try await TestBed.shared().database.turn(of: user.id)["id"])
        try await coach.always(["hang": true])
        try await judge.always(Self.danger)
        async let answer = user.retry(turn)
        // A retry is another turn.
        #expect(try await user.stop(try await Self.turnWithSavedDanger(of: user)).status == 200)
        #expect(try await answer.first("safety") != nil)
    }

    private static let danger = ["text": #"{"tier": 3, "category": "suicide", "subject": "self"}"#]

    /// The running turn of the user, when it has the danger, and their state too.
    private static func turnWithSavedDanger(of user: TestUser) async throws -> String {
        let database = try await TestBed.shared().database
        var turn: String?
        try await eventually("the danger of the running turn") {
            turn = try await database.rows(
                """
                select t.id from turns t join gateway.running_turns r on r.turn_id = t.id
                join safety_states s on s.user_id = t.user_id and s.level = 3
                where t.user_id = '\(user.id)' and r.risk ->> 'tier' = '3' and t.risk_tier = 3
                """
            ).first?["id"]
            return turn != nil
        }
        return try #require(turn)
    }

    @Test("is recorded in the ledger before its request leaves, and as a failed call when it is refused")
    func refused() async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["text": "Good."])
        try await judge.always(["http_error": ["status": 400]])
        let user = gateway.testUser()
        expectDone(try await user.chat("Plan my week"))
        let rows = try await TestBed.shared().database.rows(
            "select l.* from usage_logs l join users u using (account_id) where u.id = '\(user.id)' order by call, revision")
        #expect(rows.map { "\($0.number("call") ?? 0) \($0.number("revision") ?? 0)" } == ["1 0", "1 1", "2 0", "2 1"])
        #expect(rows.map { $0["purpose"] } == ["chat", "chat", "judge", "judge"])
        #expect(rows.last?.isNull("finalized_by") == true && rows.last?.isNull("cost_usd") == true)
    }

    /// What the simulator answers as the judge to the rows of a pair in `domains/safety/rows/09-quiet-danger.jsonl`: tiers of the crisis and of
    /// its neighbour. It misses two crises and sees one that is none, as a model would.
    private static let verdicts: [(pair: String, crisis: Int, neighbour: Int)] = [
        ("09-p1", 2, 0), ("09-p2", 0, 0), ("09-p3", 3, 0), ("09-p4", 2, 0), ("09-p5", 4, 0), ("09-p6", 4, 0), ("09-p7", 4, 0),
        ("09-p8", 2, 0), ("09-p9", 3, 0), ("09-p10", 2, 2), ("09-p11", 0, 0), ("09-p12", 2, 0),
    ]

    @Test("shows cards for crises that the message alone does not show, and no others than the judge finds")
    func gain() async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["text": "Good."])
        let file = try String(contentsOfFile: Program.root.path + "/domains/safety/rows/09-quiet-danger.jsonl", encoding: .utf8)
        let rows = file.split(separator: "\n").map { JSONObject(String($0)) }
        var found = (alone: 0, judged: 0, falseAlone: 0, falseJudged: 0)
        for verdict in Self.verdicts {
            for isCrisis in [true, false] {
                let row = try #require(rows.first { $0["pair"] == verdict.pair && ($0["label"] == "crisis") == isCrisis })
                let tier = isCrisis ? verdict.crisis : verdict.neighbour
                try await judge.always(["text": #"{"tier": \#(tier), "category": "suicide"}"#])
                let user = gateway.testUser()
                let hasCard = try await user.chat(try #require(row["text"])).eventTypes.contains("safety")
                let stages = try await TestBed.shared().database.rows(
                    "select e.stage from gateway.crisis_events e join users u using (account_id) where u.id = '\(user.id)'")
                let isAlone = hasCard && stages.first?["stage"] != "judge"
                #expect(hasCard == (isAlone || tier >= 2), "\(verdict.pair)")
                if isCrisis {
                    found.judged += hasCard ? 1 : 0
                    found.alone += isAlone ? 1 : 0
                } else {
                    found.falseJudged += hasCard ? 1 : 0
                    found.falseAlone += isAlone ? 1 : 0
                }
            }
        }
        #expect(found.judged >= 10 && found.judged > found.alone, "\(found)")
        #expect(found.falseJudged <= found.falseAlone + 1, "\(found)")
    }

    @Test("a stop reaches the judge's provider within 100 ms, and no other provider is called")
    func stopped() async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["text": "Good."])
        try await judge.always(["hang": true])
        let database = try await TestBed.shared().database
        var delays: [Double] = []
        // Without a stop it is cancelled at its time limit: a try in which the stop came later shows nothing.
        for _ in 0..<20 where delays.count < 5 {
            let (user, word) = (gateway.testUser(), marker())
            async let answer = user.chat("Plan my week \(word)")
            try await eventually("the judge's call") { try await judge.requests(containing: word).count == 1 }
            let turn = try #require(try await database.turn(of: user.id)["id"])
            let asked = Date()
            let stopped = try await user.stop(turn)
            let told = try await answer
            let (outcome, closed) = try await judge.end(of: word)
            guard closed > asked else { continue }
            delays.append(closed.timeIntervalSince(asked))
            #expect(stopped.status == 200 && stopped.json.object("data")["status"] == "stopped", "\(stopped.text)")
            #expect(outcome == "client_closed" && told.first("done")?["finish_reason"] == "stopped" && told.content.isEmpty)
            #expect(try await coach.requests(containing: word).isEmpty)
        }
        try #require(delays.count == 5)
        #expect(delays.sorted()[2] < 0.1, "\(delays)")
    }

    @Test(
        "lowers nothing, and what is no verdict, late or refused changes nothing",
        arguments: [
            ["text": #"{"tier": 0}"#], ["text": "I cannot judge that."], ["text": #"{"tier": 9}"#], ["hang": true],
            ["http_error": ["status": 500]],
        ] as [[String: any Sendable]])
    func changesNothing(script: [String: any Sendable]) async throws {
        let (coach, judge, gateway) = try await Self.testBed.value
        try await coach.always(["text": "Good."])
        try await judge.always(script)
        let calm = try await gateway.testUser().chat("Plan my week")
        #expect(calm.eventTypes == ["start", "token", "usage", "done"])
        let crisis = try await gateway.testUser().chat("I want to kill myself", ["country": "US"])
        #expect(crisis.first("safety")?.fields.number("tier").map { $0 >= 2 } == true)
    }
}
