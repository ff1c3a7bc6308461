import ChatAPI
import CoachCore
import Synchronization
import TestSupport
import Testing

struct SharedBudgetsTests {
    /// A database that grants slices up to the limit, in memory.
    private final class Rows: Sendable {
        struct State {
            var taken: [SharedBudget: Int64] = [:]
            var calls = 0
            var isAway = false
        }
        let state = Mutex(State())

        var slices: BudgetSlices {
            BudgetSlices(
                take: { budget, _, limit, want in
                    await Task.yield()
                    return try self.state.withLock { state in
                        if state.isAway { throw StoreFault.unavailable(retryAfter: 1) }
                        state.calls += 1
                        let granted = max(0, min(want.raw, limit.raw - state.taken[budget, default: 0]))
                        state.taken[budget, default: 0] += granted
                        return Nanodollars(granted)
                    }
                },
                giveBack: { budget, _, amount in
                    try self.state.withLock { state in
                        if state.isAway { throw StoreFault.unavailable(retryAfter: 1) }
                        state.taken[budget, default: 0] -= amount.raw
                    }
                })
        }

        func taken(_ budget: SharedBudget = .installation) -> Int64 { state.withLock { $0.taken[budget, default: 0] } }
    }

    private let today = CalendarDay(unixSeconds: 1_767_225_600)

    private func reserve(
        _ amount: Int64, _ budgets: SharedBudgets, of all: [(SharedBudget, Int64)] = [(.installation, 1_000)]
    ) async throws -> BudgetReservation? {
        try await budgets.reserve(Nanodollars(amount), of: all.map { ($0.0, Nanodollars($0.1)) }, on: today)
    }

    @Test("turns of two instances together never reserve more than the limit, and nearly all of it")
    func limit() async {
        let rows = Rows()
        let instances = [SharedBudgets(store: rows.slices), SharedBudgets(store: rows.slices)]
        let reserved = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1_000 { group.addTask { (try? await reserve(7, instances[number % 2])) != nil } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect((140...142).contains(reserved) && rows.taken() <= 1_000)
        #expect(instances[0].exhausted(on: today) == [.installation])
    }

    @Test("a budget that one day exhausted is not taken for exhausted the day after")
    func midnight() async throws {
        let budgets = SharedBudgets(store: Rows().slices)
        while try await reserve(100, budgets) != nil {}
        #expect(budgets.exhausted() == [SharedBudget.installation: today])
        #expect(budgets.exhausted(on: today) == [.installation])
        #expect(budgets.exhausted(on: CalendarDay(daysSinceEpoch: today.daysSinceEpoch + 1)).isEmpty)
    }

    @Test("a slice is for many turns, and is asked for once")
    func calls() async {
        let rows = Rows()
        let budgets = SharedBudgets(store: rows.slices)
        // A slice is 1,000 of the 100,000: enough for 142 turns.
        let reserved = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<1_000 { group.addTask { (try? await reserve(7, budgets, of: [(.installation, 100_000)])) != nil } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(reserved == 1_000)
        #expect(rows.state.withLock(\.calls) == 7)
    }

    @Test("unspent reservations are free again, excess costs reduce the next slice, an unknown cost counts as the reservation")
    func charges() async throws {
        let rows = Rows()
        let budgets = SharedBudgets(store: rows.slices)
        for _ in 0..<500 {
            let reservation = try #require(try await reserve(100, budgets))
            budgets.charge(reservation, cost: Nanodollars(1))
        }
        try await budgets.returnAll()
        #expect(rows.taken() == 500)
        budgets.charge(try #require(try await reserve(100, budgets)), cost: nil)
        budgets.charge(try #require(try await reserve(100, budgets)), cost: Nanodollars(150))
        try await budgets.returnAll()
        // The slice is at -50; the next one makes up for it.
        #expect(rows.taken() == 700)
        budgets.charge(try #require(try await reserve(100, budgets)), cost: Nanodollars(0))
        try await budgets.returnAll()
        #expect(rows.taken() == 750)
    }

    @Test("a turn reserves in all of its budgets or in none")
    func several() async throws {
        let rows = Rows()
        let budgets = SharedBudgets(store: rows.slices)
        let persona = SharedBudget.persona(.random())
        let all: [(SharedBudget, Int64)] = [(.installation, 1_000), (.tier("free"), 1_000), (persona, 10)]
        let reservation = try #require(try await reserve(10, budgets, of: all))
        #expect(try await reserve(10, budgets, of: all) == nil)
        #expect(budgets.exhausted(on: today) == [persona])
        try await budgets.returnAll()
        #expect(rows.taken() == 10 && rows.taken(.tier("free")) == 10 && rows.taken(persona) == 10)
        budgets.charge(reservation, cost: Nanodollars(0))
        try await budgets.returnAll()
        #expect(rows.taken() == 0 && rows.taken(persona) == 0)
    }

    @Test("idle slices are returned and used ones are not; those of a crashed instance stay taken")
    func idle() async throws {
        let rows = Rows()
        let (one, two) = (SharedBudgets(store: rows.slices), SharedBudgets(store: rows.slices))
        #expect(try await reserve(1, one) != nil)
        try await one.returnIdle()
        #expect(rows.taken() == 10, "used since the last call")
        try await one.returnIdle()
        #expect(rows.taken() == 1)
        #expect(try await reserve(1, one) != nil)
        let held = rows.taken()
        var reserved: Int64 = 0
        while try await reserve(1, two) != nil { reserved += 1 }
        #expect(reserved + held == 1_000)
    }

    @Test("while the database is unavailable a slice's rest is spent and no more: the budget is never exceeded")
    func away() async throws {
        let rows = Rows()
        let budgets = SharedBudgets(store: rows.slices)
        let all: [(SharedBudget, Int64)] = [(.installation, 1_000), (.tier("free"), 1_000)]
        // A slice is 10.
        #expect(try await reserve(4, budgets) != nil)
        rows.state.withLock { $0.isAway = true }
        #expect(try await reserve(4, budgets) != nil)
        await #expect(throws: StoreFault.unavailable(retryAfter: 1)) { try await reserve(4, budgets) }
        #expect(budgets.exhausted(on: today).isEmpty, "what is not known is not taken for used up")
        await #expect(throws: StoreFault.self) { try await reserve(2, budgets, of: all) }
        #expect(try await reserve(2, budgets) != nil, "a turn that lacks one budget reserves in none")
        rows.state.withLock { $0.isAway = false }
        #expect(try await reserve(4, budgets, of: all) != nil)
        rows.state.withLock { $0.isAway = true }
        await #expect(throws: StoreFault.self) { try await budgets.returnAll() }
        rows.state.withLock { $0.isAway = false }
        try await budgets.returnAll()
        #expect(rows.taken() == 14 && rows.taken(.tier("free")) == 4, "what could not be returned is returned later")
    }

    @Test("the budgets of a turn are those of its tier and persona that are configured")
    func configured() {
        var book = TierBook([Tier("free", sharedCostPerDay: Nanodollars(3)), Tier("paid")], installationCostPerDay: Nanodollars(1))
        let persona = PersonaID.random()
        func names(_ tier: String, _ persona: PersonaID?) -> [String] {
            book.sharedBudgets(of: book.tier(named: tier), persona: persona).map { "\($0.budget.name) \($0.limit.raw)" }
        }
        #expect(names("free", persona) == ["installation 1", "tier/free 3"] && names("paid", nil) == ["installation 1"])
        book.personaCostPerDay = Nanodollars(2)
        #expect(names("paid", persona) == ["installation 1", "persona/\(persona) 2"] && names("paid", nil) == ["installation 1"])
        let json = #"{"tiers": [{"name": "a", "requests_per_minute": 1, "shared_usd_per_day": "1"}], "grace_minutes": 0}"#
        #expect(TierBook.read(Array(json.utf8)).findings.first?.hasPrefix("tiers: usd_reserved_per_turn must be the most") == true)
    }
}
