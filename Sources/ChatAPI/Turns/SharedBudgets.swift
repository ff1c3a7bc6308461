import CoachCore
import Synchronization

/// Reserves the costs of turns in budgets that many users share, such as those of a tier for a day. Instances take parts of a budget
/// (slices) from the database; turns reserve from this instance's slice in memory.
///
/// The sum of all slices never exceeds the budget's limit. Neither do the costs of turns, if none costs more than
/// `TierBook.reservePerTurn`; the excess of one that does is subtracted from the next slice. The slices of a crashed instance stay taken
/// until the end of the day.
public final class SharedBudgets: Sendable {
    private struct Key: Hashable {
        var budget: SharedBudget
        var day: CalendarDay
    }

    /// This instance's part of a budget.
    private struct Slice {
        /// Nanodollars that are neither spent nor reserved; negative after turns that cost more than their reservation.
        var free: Int64 = 0
        /// Whether a turn reserved since the last `returnIdle`.
        var isUsed = true
        /// The running request for more, for which all turns wait; its value is why there is none, when the database did not answer.
        var refill: Task<StoreFault?, Never>?
    }

    private struct State {
        var slices: [Key: Slice] = [:]
        /// Exhausted budgets, and until when that is assumed: another instance may give something back.
        var exhausted: [Key: ContinuousClock.Instant] = [:]
    }

    /// What one look at the slice decides for a turn that reserves.
    private enum Step {
        case reserved
        case exhausted
        case wait(Task<StoreFault?, Never>)
    }

    /// A slice is one hundredth of a budget, or the reservation of one turn if that is more. So ten instances hold at most a tenth of the
    /// budget without using it.
    private static let slicesPerBudget: Int64 = 100
    private static let exhaustionRecheck = Duration.seconds(5)

    private let store: BudgetSlices
    private let state = Mutex(State())

    public init(store: BudgetSlices) { self.store = store }

    /// The budgets that are known to be exhausted, each with its latest such day: `begin_turn` rejects turns of that day that need them. The day is that
    /// of the database, whose clock may differ from this instance's.
    public func exhausted() -> [SharedBudget: CalendarDay] {
        state.withLock { state in
            guard !state.exhausted.isEmpty else { return [:] }
            let now = ContinuousClock.now
            state.exhausted = state.exhausted.filter { $0.value > now }
            return Dictionary(state.exhausted.keys.map { ($0.budget, $0.day) }, uniquingKeysWith: { max($0, $1) })
        }
    }

    /// Those of a day.
    public func exhausted(on day: CalendarDay) -> [SharedBudget] { exhausted().filter { $0.value == day }.map(\.key) }

    /// Reserves an amount in each of the budgets; nil, with nothing reserved, when one of them is exhausted. Suspends only when a slice is
    /// used up. Throws `StoreFault`, with nothing reserved, when a slice is needed and the database is unavailable: only it knows what is
    /// left, and a budget is never exceeded.
    public func reserve(
        _ amount: Nanodollars, of budgets: [(budget: SharedBudget, limit: Nanodollars)], on day: CalendarDay
    ) async throws(StoreFault) -> BudgetReservation? {
        var reservation = BudgetReservation(amount: amount, day: day, budgets: [])
        for (budget, limit) in budgets {
            let isReserved: Bool
            do {
                isReserved = try await reserve(amount.raw, of: Key(budget: budget, day: day), limit: limit.raw)
            } catch {
                charge(reservation, cost: Nanodollars(0))
                throw error
            }
            guard isReserved else {
                charge(reservation, cost: Nanodollars(0))
                return nil
            }
            reservation.budgets.append(budget)
        }
        return reservation
    }

    /// Replaces a reservation by the turn's cost. Nil: the cost is unknown, and the whole reservation counts as spent.
    public func charge(_ reservation: BudgetReservation, cost: Nanodollars?) {
        let unspent = reservation.amount.raw - (cost ?? reservation.amount).raw
        state.withLock { state in
            for budget in reservation.budgets { state.slices[Key(budget: budget, day: reservation.day), default: Slice()].free += unspent }
        }
    }

    /// Gives slices back that no turn has used since the last call, for other instances. Call every few seconds.
    public func returnIdle() async throws { try await giveBack { !$0.isUsed } }

    /// Gives all slices back. Call when no turn runs any more.
    public func returnAll() async throws { try await giveBack { _ in true } }

    private func reserve(_ amount: Int64, of key: Key, limit: Int64) async throws(StoreFault) -> Bool {
        while true {
            let step: Step = state.withLock { state in
                var slice = state.slices[key, default: Slice()]
                defer { state.slices[key] = slice }
                if slice.free >= amount {
                    slice.free -= amount
                    slice.isUsed = true
                    return .reserved
                }
                if let refill = slice.refill { return .wait(refill) }
                if let until = state.exhausted[key], until > .now { return .exhausted }
                let want = max(amount, limit / Self.slicesPerBudget) - min(0, slice.free)
                // Not a child of the request's task, because other turns wait for it too. It ends with its statement; nothing cancels it.
                let refill = Task { await take(want, of: key, limit: limit, needed: amount) }
                slice.refill = refill
                return .wait(refill)
            }
            switch step {
            case .reserved: return true
            case .exhausted: return false
            case .wait(let refill):
                if let fault = await refill.value { throw fault }
            }
        }
    }

    /// Takes a slice from the database. Returns why it could not.
    private func take(_ want: Int64, of key: Key, limit: Int64, needed: Int64) async -> StoreFault? {
        let taken: Int64
        do {
            taken = try await store.take(key.budget, key.day, Nanodollars(limit), Nanodollars(want)).raw
        } catch {
            state.withLock { $0.slices[key, default: Slice()].refill = nil }
            return error as? StoreFault ?? .unexpected("\(error)")
        }
        state.withLock { state in
            let free = state.slices[key, default: Slice()].free + taken
            state.slices[key, default: Slice()].refill = nil
            state.slices[key, default: Slice()].free = free
            state.exhausted[key] = free < needed ? .now + Self.exhaustionRecheck : nil
        }
        return nil
    }

    private func giveBack(where isReturned: (Slice) -> Bool) async throws {
        let returned = state.withLock { state in
            let latest = state.slices.keys.map(\.day).max()
            var returned: [(Key, Int64)] = []
            for (key, slice) in state.slices where slice.refill == nil {
                if isReturned(slice), slice.free > 0 {
                    returned.append((key, slice.free))
                    state.slices[key]?.free = 0
                }
                state.slices[key]?.isUsed = false
                // Removes empty slices of earlier days; a later charge makes a new one.
                if key.day != latest, state.slices[key]?.free == 0 { state.slices[key] = nil }
            }
            return returned
        }
        for (index, (key, amount)) in returned.enumerated() {
            do {
                try await store.giveBack(key.budget, key.day, Nanodollars(amount))
            } catch {
                state.withLock { state in
                    for (key, amount) in returned[index...] { state.slices[key, default: Slice()].free += amount }
                }
                throw error
            }
        }
    }
}

/// The reservation of one turn: an amount in each of some shared budgets.
public struct BudgetReservation: Sendable {
    let amount: Nanodollars
    let day: CalendarDay
    fileprivate(set) var budgets: [SharedBudget]
}
