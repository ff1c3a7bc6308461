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
        let editor = Caller.someone(role: .operator)
        let year = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: Date()).year ?? 0
        let report = try await reports.yearly(editor, year)
        #expect(Set(report.map(\.referrals)) == [5, 1] && report.allSatisfy { $0.replaced == 0 })
        #expect(try await reports.yearly(editor, year - 1).isEmpty)

        let today = (Date().timeIntervalSince1970 / 86_400).rounded(.down) * 86_400
        func rows(_ groups: [String], _ grain: FigureQuery.Grain = .day, tz: String = "UTC", of caller: Caller) async throws
            -> [[FigureValue]]
        {
            let period = Date(timeIntervalSince1970: today - 86_400)..<Date(timeIntervalSince1970: today + 86_400)
            let query = FigureQuery(period: period, groups: groups, grain: grain, timeZone: tz)
            return try await Figures.postgres(client: store.gateway).table(caller, .safety, query).rows
        }
        let all = try await rows(["tier", "category", "jurisdiction"], of: editor)
        #expect(
            all == [
                [.null, .integer(2), .text("suicide"), .text("GB"), .integer(5), .few],
                [.null, .integer(3), .text("suicide"), .null, .few, .few],
            ])
        #expect(try await rows([], of: editor) == [[.null, .null, .null, .null, .integer(6), .few]])
        #expect(try await rows(["category"], of: editor).map { $0[4] } == [.integer(6)])
        let days = try await rows(["day"], .week, tz: "Asia/Kolkata", of: editor)
        guard case .time(let monday) = try #require(days.first)[0] else { throw StoreFault.unexpected("no bucket") }
        let offset = Int(monday.millisecondsSince1970 / 1000) + 19_800
        #expect(offset % 86_400 == 0 && (offset / 86_400 + 3) % 7 == 0, "a Monday in Kolkata begins at \(monday.rfc3339)")
        await #expect(throws: InvalidFigureQuery.self) { try await rows(["user"], of: editor) }
        await #expect(throws: NotAllowed.self) { try await rows([], of: .someone()) }
    }

    @Test("a turn that is tried again, with a higher tier, counts once in figures and in the report")
    func triedAgain() async throws {
        let store = try await StoreFixture()
        let turns = store.turns()
        for _ in 0..<5 {
            let caller = Caller.someone()
            let request = TurnRequest(message: "x", idempotencyKey: "k")
            let first = try await turns.begin(caller, request, risk: .danger(.crisis)).begun.identity
            var failed = TurnReceipt.failed(first, of: caller)
            failed.crisis = receipt(first, of: caller, .danger(.crisis), replaced: [.phone]).crisis
            _ = try await turns.finish(failed)
            let second = try await turns.begin(caller, request, risk: .danger(.high)).begun.identity
            #expect(second.turnID == first.turnID && second.attempt == 2)
            _ = try await turns.finish(receipt(second, of: caller, .danger(.high), replaced: [.phone]))
        }
        let editor = Caller.someone(role: .operator)
        #expect(try await store.count("select count(*) from gateway.crisis_events") == 20)
        let now = Date()
        let year = Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: now).year ?? 0
        let report = try await SafetyReports.postgres(client: store.gateway).yearly(editor, year)
        #expect(report.map(\.referrals) == [5] && report.map(\.replaced) == [5])
        let hour = (now.timeIntervalSince1970 / 3_600).rounded(.down) * 3_600
        let query = FigureQuery(
            period: Date(timeIntervalSince1970: hour - 3_600)..<Date(timeIntervalSince1970: hour + 7_200), groups: ["tier"], grain: .day,
            timeZone: "UTC")
        let rows = try await Figures.postgres(client: store.gateway).table(editor, .safety, query).rows
        #expect(rows == [[.null, .integer(3), .null, .null, .integer(5), .integer(5)]])
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

    @Test("a turn that failed, as one that a shared budget refused, does not count as one that gave the notice, until it is tried again")
    func disclosureOfFailedTurn() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        func begin(_ key: String? = nil) async throws -> TurnContext {
            try await turns.begin(caller, TurnRequest(message: "Hello", idempotencyKey: key), risk: .calm).begun
        }
        let first = try await begin("k")
        #expect(first.disclosure == .standard)
        _ = try await turns.finish(.failed(first.identity, of: caller))
        let failedAgain = try await begin("k")
        #expect(failedAgain.disclosure == .standard && failedAgain.identity.attempt == 2)
        try await turns.repository.abandon(caller.userID, failedAgain.identity)
        let answered = try await begin("k")
        #expect(answered.disclosure == .standard && answered.identity.attempt == 3)
        _ = try await turns.finish(.complete(answered.identity, of: caller))
        let later = try await begin()
        #expect(later.disclosure == nil, "the third attempt gave it")
        _ = try await turns.finish(.failed(later.identity, of: caller))
        #expect(try await begin().disclosure == nil, "a turn without the notice withdraws none")

        let other = Caller.someone()
        let failed = try await turns.begin(other, TurnRequest(message: "Hello"), risk: .calm).begun
        _ = try await turns.finish(.failed(failed.identity, of: other))
        #expect(try await turns.begin(other, TurnRequest(message: "Hello"), risk: .calm).begun.disclosure == .standard, "not tried again")
    }

    @Test("a turn by OpenAI's protocols, which have no place for the notice, does not count as one that gave it")
    func disclosureElsewhere() async throws {
        let store = try await StoreFixture.shared()
        let (caller, turns) = (Caller.someone(), store.turns())
        for (source, notice) in [(ConversationSource.openai, nil), (.app, DisclosureKind.standard), (.openai, nil)] {
            let turn = try await turns.begin(caller, TurnRequest(message: "Hello", source: source), risk: .calm).begun
            _ = try await turns.finish(.complete(turn.identity, of: caller))
            #expect(turn.disclosure == notice)
        }
    }
}
