/// Bounds repetitions to a share of the calls, so that a provider in trouble does not get more requests than a healthy one. Pure.
///
/// A repetition is the second request of a call to the same model, a hedge, or a later request of a call to a model with an open circuit.
struct RetryBudget: Equatable {
    /// The number of calls that allow one repetition.
    static let callsPerRetry = 5
    /// The repetitions that a gateway may make before it has had calls.
    static let reserve = 10

    private var credit = reserve * callsPerRetry

    mutating func called() { credit = min(credit + 1, 2 * Self.reserve * Self.callsPerRetry) }

    /// Whether a call may repeat its request. Counts the repetition if so.
    mutating func takes() -> Bool {
        guard credit >= Self.callsPerRetry else { return false }
        credit -= Self.callsPerRetry
        return true
    }
}
