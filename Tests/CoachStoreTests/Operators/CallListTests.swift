import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Calls behind operators' figures")
struct CallListTests {
    private func read(_ table: FigureTable, _ figure: Figure, _ names: [String]) -> [[String]] { table.texts(figure, names) }

    @Test("a figure's calls are found by its keys, page by page, and add up to it")
    func trace() async throws {
        let store = try await StoreFixture()
        let (caller, other, turns) = (Caller.someone(), Caller.someone(), store.turns())
        for number in 0..<5 {
            let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .calm).begun.identity
            try await turns.finish(.complete(identity, of: caller, domain: number == 0 ? nil : .mindset))
        }
        // Its correction is of another domain.
        let moved = try await turns.begin(other, TurnRequest(message: "Hello"), risk: .calm).begun.identity
        var estimate = TurnReceipt.complete(moved, of: other)
        estimate.finalizedBy = .recovery
        try await turns.finish(estimate)
        try await turns.finish(.complete(moved, of: other, domain: .fitness))
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func calls(_ filter: [String: String?], limit: Int = 100) async throws -> [[String]] {
            try await figures.allCalls(admin, filter, ["turn_id", "domain", "cost_usd", "user_id", "status"], limit: limit)
        }
        let mindset = try await calls(["domain": "mindset", "model": "coach-sim"], limit: 3)
        #expect(mindset.count == 4 && Set(mindset.map { $0[0] }).count == 4)
        #expect(mindset.allSatisfy { $0[1] == "mindset" && $0[2] == "123456" && $0[3] == caller.userID.description && $0[4] == "complete" })
        #expect(try await calls(["domain": nil]).count == 1)
        #expect(try await calls(["user_id": other.userID.description]).map { [$0[0], $0[1]] } == [[moved.turnID.description, "fitness"]])
        let all = try await calls([:], limit: 2)
        #expect(all.count == 6)
        func sums(_ calls: [[String]]) -> [String] {
            let cost: Int = calls.compactMap { Int($0[2]) }.reduce(0, +)
            return ["\(calls.count)", "\(cost)"]
        }
        let whole = try await figures.table(admin, .costs, FigureSample.query([]))
        #expect(read(whole, .costs, ["turns", "cost_usd"]) == [sums(all)])
        let byDomain = read(
            try await figures.table(admin, .costs, FigureSample.query(["domain"])), .costs, ["domain", "turns", "cost_usd"])
        #expect(Set(byDomain.map { $0[0] }) == ["-", "mindset", "fitness"])
        for row in byDomain {
            let domain: String? = row[0] == "-" ? nil : row[0]
            #expect(try await sums(calls(["domain": domain])) == Array(row[1...]), "\(row[0])")
        }
        #expect(try await calls(["user_id": UserID.random().description]).isEmpty)
        #expect(try await calls(["user_id": nil]).isEmpty)
        let keys = "\(UUID())/\(UUID())/1/1"
        // PostgreSQL reads the last three as times with a zone.
        for cursor in ["x/y", "x/\(keys)", "2026-11-30 00:00+99:99/\(keys)", "2026-11-30 00:00 Mars/\(keys)", "+262143-01-01/\(keys)"] {
            await #expect(throws: InvalidCursor.self, "\(cursor)") {
                try await figures.calls(admin, CallQuery(period: FigureSample.period, filter: [:]), PageRequest(limit: 1, cursor: cursor))
            }
        }
    }

    @Test("attempts that nobody answered are found, and calls of removed users")
    func exceptions() async throws {
        let store = try await StoreFixture()
        let (caller, removed, turns) = (Caller.someone(), Caller.someone(), store.turns())
        try await turns.talk(caller, "Hello")
        let failed = try await turns.talk(caller, "Nobody answers", status: .failed)
        let lost = try await turns.talk(removed, "Hello")
        try await store.admin.execute("delete from public.users where id = \(removed.userID.uuid)")
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func calls(_ filter: [String: String?]) async throws -> [[String]] {
            try await figures.allCalls(admin, filter, ["turn_id", "status", "error_code", "user_id"])
        }
        let none = try await calls(["provider": nil])
        #expect(none == [[failed.turnID.description, "failed", "EXT_4001", caller.userID.description]])
        #expect(try await calls(["user_id": caller.userID.description]).count == 2)
        #expect(try await calls(["user_id": nil]).map { [$0[0], $0[3]] } == [[lost.turnID.description, "-"]])
        #expect(try await calls(["user_id": nil, "provider": nil]).isEmpty)
        #expect(try await calls([:]).count == 3)
        // As many as the figure of errors counts.
        let errors = try await figures.table(admin, .all("errors"), FigureSample.query(["code", "provider"]))
        #expect(read(errors, .all("errors"), ["code", "provider", "errors"]) == [["EXT_4001", "-", "1"]])
        let fitting: [[String: String?]] = [
            ["error_code": "EXT_4001"], ["error_code": CallQuery.anyError], ["error_code": "EXT_4001", "provider": nil],
        ]
        for filter in fitting {
            #expect(try await calls(filter).map { $0[0] } == [failed.turnID.description], "\(filter)")
        }
        #expect(try await calls(["error_code": "EXT_4002"]).isEmpty)
        #expect(try await calls(["error_code": "EXT_4001", "provider": "simulator"]).isEmpty)
        #expect(try await calls(["error_code": "EXT_4001", "user_id": caller.userID.description]).count == 1)
        #expect(try await calls(["error_code": nil]).count == 2)
        // A day on which nobody answered.
        try await store.move(failed, to: FigureSample.today.addingTimeInterval(-86_400))
        try await store.admin.execute("call gateway.rebuild_rollups()")
        #expect(try await calls(["provider": nil]).count == 1)
    }

    @Test("failed calls that another one healed are in their provider's list, as many as its errors; before a fixed text they are sums")
    func failed() async throws {
        let store = try await StoreFixture()
        let (caller, turns) = (Caller.someone(), store.turns())
        let down = ModelName(provider: "down", model: "m")
        func end(_ risk: RiskAssessment = .calm, _ change: (inout TurnReceipt) -> Void) async throws {
            let identity = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: risk).begun.identity
            var receipt = TurnReceipt.complete(identity, of: caller)
            receipt.otherCalls = [BilledCall(number: 3, name: down, bill: nil)]
            change(&receipt)
            try await turns.finish(receipt)
        }
        for _ in 0..<3 { try await end { _ in } }
        // Nobody answers; an answer is cut; the judge's call fails; a fixed text.
        try await end { ($0.status, $0.finishReason, $0.bill, $0.errorCode) = (.failed, nil, nil, "EXT_4001") }
        try await end { ($0.status, $0.finishReason, $0.errorCode, $0.otherCalls) = (.interrupted, nil, "EXT_4001", nil) }
        try await end { $0.otherCalls = [BilledCall(number: BilledCall.judgeNumber, purpose: .judge, name: down, bill: nil)] }
        try await end(.danger(.crisis)) { ($0.finishReason, $0.bill) = (.safety, nil) }
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func calls(_ filter: [String: String?]) async throws -> [[String]] {
            try await figures.allCalls(admin, filter, ["calls", "error", "error_code", "purpose", "user_id", "turn_id"], limit: 2)
        }
        func count(_ calls: [[String]]) -> Int { calls.compactMap { Int($0[0]) }.reduce(0, +) }
        let table = try await figures.table(admin, .all("providers"), FigureSample.query(["provider", "model"]))
        let providers = read(table, .all("providers"), ["provider", "model", "calls", "errors"])
        #expect(providers == [["down", "m", "0", "6"], ["simulator", "coach-sim", "5", "1"], ["-", "-", "0", "1"]])
        var errors = 0
        for row in providers {
            let key: [String: String?] = row[0] == "-" ? ["provider": nil] : ["provider": row[0], "model": row[1]]
            let (listed, failed) = (try await calls(key), try await calls(key.merging(["error": "true"]) { $1 }))
            #expect("\(count(failed))" == row[3] && failed.allSatisfy { $0[1] == "true" }, "\(row)")
            #expect(listed.filter { $0[1] == "true" } == failed, "\(row)")
            // Errors without a code are no calls of the figure.
            let accepted = listed.filter { $0[1] != "true" || $0[2] != "-" }
            #expect(row[0] == "-" || "\(count(accepted))" == row[2], "\(row)")
            errors += count(failed)
        }
        let (all, failed) = (try await calls([:]), try await calls(["error": "true"]))
        let others = try await calls(["error": "false"])
        #expect(count(failed) == errors && count(all) == errors + count(others))
        // The judge's, and those of the fixed text, of which nothing tells that there was one.
        let sums = failed.filter { $0[5] == "-" }
        #expect(sums == [["1", "true", "-", "judge", "-", "-"], ["1", "true", "-", "chat", "-", "-"]])
        let own = try await calls(["user_id": caller.userID.description, "provider": "down"])
        #expect(own.count == 4 && own.allSatisfy { $0[1] == "true" && $0[4] == caller.userID.description && $0[5] != "-" }, "\(own)")
        #expect(try await calls(["error_code": CallQuery.anyError]).count == 2)
    }

    @Test("costs and calls by user name nobody who may be in danger: no fixed texts, and the judge's calls as sums without a user")
    func danger() async throws {
        let store = try await StoreFixture()
        let (caller, other, turns) = (Caller.someone(), Caller.someone(), store.turns())
        for someone in [caller, other] {
            let identity = try await turns.begin(someone, TurnRequest(message: "Hello"), risk: .calm).begun.identity
            var receipt = TurnReceipt.complete(identity, of: someone)
            receipt.otherCalls = [
                BilledCall(
                    number: BilledCall.judgeNumber, purpose: .judge, name: ModelName(provider: "second", model: "look"),
                    bill: TurnBill(
                        name: ModelName(provider: "second", model: "look"), usage: TokenUsage(input: 5, output: 1),
                        cost: Nanodollars(1_000),
                        estimated: false))
            ]
            try await turns.finish(receipt)
        }
        let fixed = try await turns.begin(caller, TurnRequest(message: "Hello"), risk: .danger(.crisis)).begun.identity
        var receipt = TurnReceipt.complete(fixed, of: caller, "Please call.", domain: nil)
        receipt.bill = nil
        receipt.finishReason = .safety
        try await turns.finish(receipt)
        try await store.foldRollups()

        let (figures, admin) = (Figures.postgres(client: store.gateway), Caller.someone(role: .operator))
        func calls(_ filter: [String: String?], limit: Int = 100) async throws -> [[String]] {
            try await figures.allCalls(admin, filter, ["purpose", "user_id", "turn_id", "conversation_id", "cost_usd"], limit: limit)
        }
        let judged = ["judge", "-", "-", "-", "2000"]
        #expect(try await calls(["provider": nil]).isEmpty)
        #expect(try await calls(["provider": "second"]) == [judged])
        #expect(try await calls(["user_id": nil]) == [judged])
        #expect(try await calls(["user_id": caller.userID.description, "provider": "second"]).isEmpty)
        for limit in [1, 100] {
            let all = try await calls([:], limit: limit)
            let (purposes, costs) = (all.map { $0[0] }, all.map { Int($0[4]) ?? 0 })
            #expect(all.first == judged && purposes == ["judge", "chat", "chat"], "\(all)")
            let sum: Int = costs.reduce(0, +)
            #expect(sum == 2 * 123_456 + 2_000)
        }
        func costs(_ groups: [String]) async throws -> Set<[String]> {
            let table = try await figures.table(admin, .costs, FigureSample.query(groups))
            return Set(read(table, .costs, ["user_id", "provider", "turns", "cost_usd"]))
        }
        let own = [caller, other].map { $0.userID.description }
        let byProvider: [[String]] = own.map { [$0, "simulator", "1", "123456"] } + [["-", "second", "0", "2000"]]
        #expect(try await costs(["user", "provider"]) == Set(byProvider))
        let byUser: [[String]] = own.map { [$0, "-", "1", "123456"] } + [["-", "-", "0", "2000"]]
        #expect(try await costs(["user"]) == Set(byUser))
        let administration = UserAdministration.postgres(client: store.gateway)
        for someone in [caller, other] {
            #expect(try await administration.status(admin, someone.userID)?.spentToday == Nanodollars(123_456))
        }
        let usage = try await figures.table(admin, .all("usage"), FigureSample.query(["day"]))
        #expect(read(usage, .all("usage"), ["active_users", "weekly_active_users"]).last == ["2", "2"])
    }
}
