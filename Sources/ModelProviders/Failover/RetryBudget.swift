/// Bounds repetitions to a share of the calls, so that providers in trouble do not get more requests than those in health: the second request of a
/// call to the same model, a hedge, and one to a model with an open circuit after another's. Pure.
struct RetryBudget: Equatable {
    /// A repetition for so many calls ...
    static let callsPerRetry = 5
    /// ... and so many for a gateway that has just begun, or is hardly used.
    static let reserve = 10

    private var credit = reserve * callsPerRetry

    mutating func called() { credit = min(credit + 1, 2 * Self.reserve * Self.callsPerRetry) }

    /// Whether a call may repeat its request; counts it.
    mutating func takes() -> Bool {
        guard credit >= Self.callsPerRetry else { return false }
        credit -= Self.callsPerRetry
        return true
    }
}
