import CoachCore
import Synchronization

/// The slices of shared budgets that this instance holds. Turns reserve from them in memory.
///
/// The sum of all slices is never above a limit; what turns cost is not either, as long as `TierBook.reservePerTurn` is the most that one costs.
/// A turn that costs more is made up for by the next slice. The slices of an instance that dies stay taken until the day ends.
public final class SharedBudgets: Sendable {
    private struct Key: Hashable {
        var budget: SharedBudget
        var day: CalendarDay
    }

    private struct Slice {
        /// Nanodollars that are neither spent nor reserved; negative after turns that cost more than their reserve.
        var free: Int64 = 0
        /// Whether a turn reserved since the last `returnIdle`.
        var isUsed = true
        /// One request at a time, for which all turns wait.
        var refill: Task<Bool, Never>?
    }

    private struct State {
        var slices: [Key: Slice] = [:]
        /// Budgets with nothing left, and until when that is believed: another instance may give something back.
        var exhausted: [Key: ContinuousClock.Instant] = [:]
    }

    private enum Step {
        case reserved
        case exhausted
        case wait(Task<Bool, Never>)
    }

    /// A slice is this part of a budget, or what one turn reserves, if that is more. With ten instances at most a tenth of the budget is held by
    /// instances that do not need it.
    private static let slicesPerBudget: Int64 = 100
    private static let exhaustionRecheck = Duration.seconds(5)

    private let store: BudgetSlices
    private let state = Mutex(State())

    public init(store: BudgetSlices) { self.store = store }

    /// The budgets with nothing left, for `begin_turn` to refuse turns that would draw on them.
    public var exhausted: [SharedBudget] {
        state.withLock { state in
            guard !state.exhausted.isEmpty else { return [] }
            let now = ContinuousClock.now
            state.exhausted = state.exhausted.filter { $0.value > now }
            return state.exhausted.keys.map(\.budget)
        }
    }

    /// Reserves an amount of each of the budgets; nil when one of them does not have it. Suspends only when a slice is used up. While the database
    /// is unavailable the reservation is made all the same, in the user's favour, and made up for by the next slice.
    public func reserve(
        _ amount: Nanodollars, of budgets: [(budget: SharedBudget, limit: Nanodollars)], on day: CalendarDay
    ) async -> BudgetReservation? {
        var reservation = BudgetReservation(amount: amount, day: day, budgets: [])
        for (budget, limit) in budgets {
            guard await reserve(amount.raw, of: Key(budget: budget, day: day), limit: limit.raw) else {
                settle(reservation, cost: Nanodollars(0))
                return nil
            }
            reservation.budgets.append(budget)
        }
        return reservation
    }

    /// Replaces a reservation by what the turn cost; nil when that is unknown: then the reserve is spent.
    public func settle(_ reservation: BudgetReservation, cost: Nanodollars?) {
        let unspent = reservation.amount.raw - (cost ?? reservation.amount).raw
        state.withLock { state in
            for budget in reservation.budgets { state.slices[Key(budget: budget, day: reservation.day), default: Slice()].free += unspent }
        }
    }

    /// Gives back slices that no turn has used since the last call, so that other instances can. To be called every few seconds.
    public func returnIdle() async throws { try await giveBack { !$0.isUsed } }

    /// Gives back everything: no turn runs any more.
    public func returnAll() async throws { try await giveBack { _ in true } }

    private func reserve(_ amount: Int64, of key: Key, limit: Int64) async -> Bool {
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
                // Not a child of the request, because other turns wait for it, too. Ends with the statement.
                let refill = Task { await take(want, of: key, limit: limit, needed: amount) }
                slice.refill = refill
                return .wait(refill)
            }
            switch step {
            case .reserved: return true
            case .exhausted: return false
            case .wait(let refill):
                if await refill.value { continue }
                state.withLock { $0.slices[key, default: Slice()].free -= amount }
                return true
            }
        }
    }

    /// Returns whether the database answered.
    private func take(_ want: Int64, of key: Key, limit: Int64, needed: Int64) async -> Bool {
        let taken = try? await store.take(key.budget, key.day, Nanodollars(limit), Nanodollars(want))
        state.withLock { state in
            state.slices[key, default: Slice()].refill = nil
            guard let taken else { return }
            let free = state.slices[key, default: Slice()].free + taken.raw
            state.slices[key, default: Slice()].free = free
            state.exhausted[key] = free < needed ? .now + Self.exhaustionRecheck : nil
        }
        return taken != nil
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
                // A late settlement makes a new one.
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

/// What a turn has reserved of shared budgets.
public struct BudgetReservation: Sendable {
    let amount: Nanodollars
    let day: CalendarDay
    fileprivate(set) var budgets: [SharedBudget]
}
