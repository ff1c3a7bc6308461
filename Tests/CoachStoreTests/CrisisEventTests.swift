import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Crisis events and the notice of talking to a machine")
struct CrisisEventTests {
    private static let versions = CrisisRecord.Versions(model: "0011", grammar: 4, outputGuard: 1, resources: 3)

    private func receipt(
        _ identity: TurnIdentity, of caller: Caller, _ risk: RiskAssessment, country: String? = "US", replaced: [OutputRules.Kind] = []
    ) -> TurnReceipt {
        var receipt = TurnReceipt.complete(identity, of: caller, risk: risk)
        receipt.crisis = CrisisRecord(
            risk: risk, region: Region(country: country), hasFixedText: false, replaced: replaced, versions: Self.versions)
        return receipt
    }

    private func rows(_ store: StoreFixture, of caller: Caller) async throws -> [String] {
        let query: Query = """
            select to_jsonb(e) - 'created_at' - 'account_id' - 'day' - 'turn_id' from gateway.crisis_events e
            join public.users u on u.account_id = e.account_id where u.id = \(caller.userID.uuid) order by e.stage
            """
        return try await store.admin.query("select x::text from (\(query)) as t (x)") { rows in
            try rows.map { row in try row.value(0, as: String.self) }
        }
    }

    @Test("a turn in danger leaves a row without text, once, and an ordinary one none")
    func rows() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        let calm = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun
        _ = try await turns.finish(receipt(calm.identity, of: caller, .calm))
        #expect(try await rows(store, of: caller).isEmpty)
        var risk = RiskAssessment.danger(.high)
        risk.score = 0.42
        let turn = try await turns.begin(caller, TurnRequest(message: "secret words"), risk: risk).begun
        let ended = receipt(turn.identity, of: caller, risk, replaced: [.phone, .phone, .identity])
        #expect(try await turns.finish(ended) == .finalized)
        #expect(try await turns.finish(ended) == .alreadyFinalized)
        let found = try await rows(store, of: caller)
        #expect(found.count == 2)
        for part in [#""stage": "grammar""#, #""tier": 3"#, #""action": "opening""#, #""score_bucket": 4"#, #""category": "suicide""#] {
            #expect(found.first?.contains(part) == true, "\(part) in \(found)")
        }
        for part in [#""stage": "output_guard""#, #""patterns": ["phone", "identity"]"#, #""jurisdiction": "US""#, #""grammar": 4"#] {
            #expect(found.last?.contains(part) == true, "\(part) in \(found)")
        }
        #expect(!found.joined().contains("secret"))
    }

    @Test("operators read counts from five on, and the exact ones of a year")
    func figures() async throws {
        let store = try await StoreFixture()
        let turns = store.turns()
        for number in 0..<6 {
            let caller = Caller.someone()
            let risk = RiskAssessment.danger(number < 5 ? .crisis : .high)
            let turn = try await turns.begin(caller, TurnRequest(message: "x"), risk: risk).begun
            _ = try await turns.finish(receipt(turn.identity, of: caller, risk, country: number == 5 ? nil : "GB"))
        }
        let reports = SafetyReports.postgres(client: store.gateway)
        let today = CalendarDay(unixSeconds: Int(Date().timeIntervalSince1970))
        let editor = Caller.someone(role: .operator)
        let daily = try await reports.daily(editor, CalendarDay(daysSinceEpoch: today.daysSinceEpoch - 1), today)
        #expect(daily.map(\.referrals) == [5, nil] && daily.map(\.tier) == [.crisis, .high])
        #expect(daily.map(\.jurisdiction) == ["GB", nil] && daily.allSatisfy { $0.category == .suicide && $0.replaced == nil })
        let year = try #require(daily.first?.day.flatMap { Int($0.description.prefix(4)) })
        let report = try await reports.yearly(editor, year)
        #expect(Set(report.map(\.referrals)) == [5, 1] && report.allSatisfy { $0.replaced == 0 && $0.day == nil })
        #expect(try await reports.yearly(editor, year - 1).isEmpty)
        await #expect(throws: NotAllowed.self) { try await reports.daily(.someone(), today, today) }
    }

    @Test("the notice is due at the first turn and after three hours, on every instance, and a replay has it again")
    func disclosure() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        func begin(_ key: String? = nil) async throws -> TurnContext {
            let turn = try await turns.begin(caller, TurnRequest(message: "Hello", idempotencyKey: key), risk: .calm).begun
            _ = try await turns.finish(.complete(turn.identity, of: caller))
            return turn
        }
        let first = try await begin("k")
        #expect(first.disclosure == .standard && first.turnNumber == 1 && !first.isMinor)
        #expect(
            try await turns.begin(caller, TurnRequest(message: "Hello", idempotencyKey: "k"), risk: .calm).known.disclosure == .standard)
        #expect(try await begin().disclosure == nil)
        func ago(_ time: String) async throws {
            try await store.admin.execute(
                "update public.rate_limits set disclosed_at = now() - \(time)::interval where user_id = \(caller.userID.uuid)")
        }
        try await ago("2 hours 59 minutes")
        #expect(try await begin().disclosure == nil)
        try await ago("3 hours 1 minute")
        try await store.admin.execute("update public.users set is_minor = true where id = \(caller.userID.uuid)")
        let minor = try await begin()
        #expect(minor.disclosure == .minor && minor.isMinor)
        try await ago("-1 hours")
        #expect(try await begin().disclosure == .minor, "a time in the future counts as long ago")
    }
}
