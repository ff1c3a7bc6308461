import CoachCore
import Foundation
import JSON
import Testing

struct TierBookTests {
    private static let shipped = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "deploy/tiers.json")

    @Test("the shipped file has the limits of the contract, and the defaults are the same")
    func shippedFile() throws {
        let (book, findings) = TierBook.read(try Data(contentsOf: Self.shipped))
        #expect(findings.isEmpty)
        let free = try #require(book).lowest
        #expect(free.name == "free" && free.messagesPerDay == 200 && free.concurrentTurns == 5 && free.requestsPerMinute == 600)
        #expect(book?.crisis == TierBook.CrisisAllowance() && book?.graceSeconds == TierBook().graceSeconds)
        #expect(TierBook().lowest.messagesPerDay == 200 && TierBook().lowest.concurrentTurns == 5)
        #expect(book?.paidTiers == ["premium": 2, "*": 2] && book?.trialTiers == ["premium": 1, "*": 1])
    }

    @Test("every member of a tier is read")
    func members() throws {
        let json = """
            {"tiers": [{"name": "free", "requests_per_minute": 9},
              {"name": "paid", "entitlements": ["pro"], "requests_per_minute": 60, "messages_per_day": 7, "concurrent_turns": 3,
               "tokens_per_day": 8, "tokens_per_month": 9, "usd_per_day": "0.5", "usd_per_month": "3", "domains": ["fitness", "mindset"],
               "models": ["m"], "history": {"tokens": 5, "messages": 6}, "published_personas": 0}],
             "grace_minutes": 2, "crisis": {"model_calls_per_day": 4}, "usd_reserved_per_turn": "0.000000001", "tokens_reserved_per_turn": 8}
            """
        let (book, findings) = TierBook.read(Array(json.utf8))
        #expect(findings.isEmpty)
        let expected = TierBook(
            [
                Tier("free", requestsPerMinute: 9),
                Tier(
                    "paid", entitlements: ["pro"], requestsPerMinute: 60, messagesPerDay: 7, concurrentTurns: 3,
                    budgets: .init(
                        tokensPerDay: 8, tokensPerMonth: 9, costPerDay: Nanodollars(500_000_000), costPerMonth: Nanodollars(3_000_000_000)),
                    domains: [.fitness, .mindset], models: ["m"], history: .init(tokens: 5, messages: 6), publishedPersonas: 0),
            ], crisis: .init(modelCallsPerDay: 4, concurrentTurns: 20), reservePerTurn: Nanodollars(1), reservedTokensPerTurn: 8,
            graceSeconds: 120)
        #expect(book == expected)
        // As an edited document: the database's JSON keeps only the order of arrays.
        #expect(try TierBook(JSONReader(JSONValue(parsing: Array(json.utf8)))) == expected)
    }

    @Test(
        "a budget needs a reservation: turns that run at once would overspend it",
        arguments: [
            ("usd_per_day", #""1""#, "usd_reserved_per_turn", #""0.1""#), ("usd_per_month", #""1""#, "usd_reserved_per_turn", #""0.1""#),
            ("tokens_per_day", "9", "tokens_reserved_per_turn", "2"), ("tokens_per_month", "9", "tokens_reserved_per_turn", "2"),
        ])
    func reservation(budget: String, value: String, member: String, reserve: String) {
        let tiers = #""tiers": [{"name": "free", "requests_per_minute": 1, "\#(budget)": \#(value)}], "grace_minutes": 0"#
        let findings = TierBook.read(Array("{\(tiers)}".utf8)).findings
        #expect(findings.count == 1 && findings[0].hasPrefix("tiers: \(member) must be the most"), "\(findings)")
        #expect(TierBook.read(Array("{\(tiers), \"\(member)\": \(reserve)}".utf8)).findings == [])
    }

    @Test(
        "a reservation that is more than a budget is a finding, as no turn would begin; a budget of no money is meant",
        arguments: [
            ("usd_per_day", #""0.09""#, false), ("usd_per_month", #""0.09""#, false), ("shared_usd_per_day", #""0.09""#, false),
            ("tokens_per_day", "8", false), ("tokens_per_month", "8", false), ("tokens_per_day", "9", true),
            ("usd_per_day", #""0.1""#, true), ("usd_per_day", #""0""#, true),
        ])
    func tooLargeReservation(budget: String, value: String, isSound: Bool) {
        let file = #"""
            {"tiers": [{"name": "free", "requests_per_minute": 1, "\#(budget)": \#(value)}], "grace_minutes": 0,
             "usd_reserved_per_turn": "0.1", "tokens_reserved_per_turn": 9}
            """#
        let findings = TierBook.read(Array(file.utf8)).findings
        #expect(isSound ? findings == [] : findings.count == 1 && findings[0].contains("must not be more than a budget"), "\(findings)")
    }

    @Test("all findings are reported")
    func findings() {
        let json = """
            {"tiers": [{"name": "free", "requests_per_minute": 0, "entitlements": ["x"], "message_per_day": 1},
              {"name": "a", "entitlements": ["pro"], "requests_per_minute": 1, "domains": ["astrology"]},
              {"name": "b", "entitlements": ["pro"], "requests_per_minute": 1},
              {"name": "b", "entitlements": ["pro"], "trial": true, "requests_per_minute": 1, "usd_per_day": 3},
              {"name": "c", "entitlements": ["pro"], "requests_per_minute": 1},
              {"name": "b", "entitlements": ["other"], "requests_per_minute": 1}]}
            """
        let (book, findings) = TierBook.read(Array(json.utf8))
        #expect(book == nil)
        for finding in [
            "tiers[0].requests_per_minute must be a whole number", "tiers[0].message_per_day is unknown", "tiers[1].domains[0] must be",
            "tiers[3].usd_per_day must be of type string", "tiers[4].entitlements names pro, which gives another tier already",
            "tiers[5].name is given twice", "grace_minutes is required",
        ] {
            #expect(findings.contains { $0.hasPrefix("tiers: \(finding)") }, "\(finding) in \(findings)")
        }
        let first = #"{"tiers": [{"name": "free", "requests_per_minute": 1, "entitlements": ["x"]}], "grace_minutes": 0}"#
        #expect(
            TierBook.read(Array(first.utf8)).findings == [
                "tiers: tiers[0].entitlements must be absent: the first tier needs no entitlement"
            ])
        #expect(TierBook.read(Array(#"{"tiers": [], "grace_minutes": 0}"#.utf8)).book == nil)
    }

    @Test("the upgrade is the next tier with a higher limit")
    func upgrade() {
        let book = TierBook([
            Tier("free", messagesPerDay: 1, concurrentTurns: 2, budgets: .init(tokensPerDay: 5), domains: []),
            Tier(
                "plus", entitlements: ["plus"], messagesPerDay: 1, concurrentTurns: 3, budgets: .init(tokensPerDay: 5), domains: [.fitness]),
            Tier("pro", entitlements: ["pro"], messagesPerDay: 2, concurrentTurns: 3, budgets: .init(tokensPerDay: 6)),
        ])
        func upgrade(
            _ reason: Rejection.Reason, from tier: String = "free", _ domain: Domain? = nil, shared: SharedBudget.Scope? = nil
        ) -> String? {
            book.upgrade(after: Rejection(reason: reason, tier: tier, domain: domain, sharedBudget: shared))?.name
        }
        #expect(upgrade(.quotaExhausted) == "pro" && upgrade(.tooManyTurns) == "plus" && upgrade(.budgetExhausted) == "pro")
        #expect(upgrade(.subscriptionRequired, .fitness) == "plus" && upgrade(.subscriptionRequired, .mindset) == "pro")
        #expect(upgrade(.tooManyTurns, from: "plus") == nil && upgrade(.quotaExhausted, from: "pro") == nil)
        #expect(upgrade(.budgetExhausted, shared: .tier) == "plus" && upgrade(.budgetExhausted, from: "pro", shared: .tier) == nil)
        #expect(upgrade(.budgetExhausted, shared: .installation) == nil && upgrade(.budgetExhausted, shared: .persona) == nil)
        #expect(upgrade(.rateLimited) == nil && upgrade(.quotaExhausted, from: "gone") == nil)
    }

    @Test("dollars are parsed exactly or not at all")
    func dollars() {
        for (text, raw) in [
            ("0", 0), ("3", 3_000_000_000), ("0.5", 500_000_000), ("0.000000001", 1), ("999999999.999999999", 999_999_999_999_999_999),
        ]
            as [(String, Int64)]
        {
            #expect(Nanodollars(dollars: text)?.raw == raw)
        }
        for text in ["", "-1", ".5", "1.", "1e3", "+1", " 1", "1.0000000001", "1000000000", "1.2.3", "٣"] {
            #expect(Nanodollars(dollars: text) == nil, "\(text)")
        }
    }
}
