/// The pauses between attempts to connect. Pure: randomness is an argument.
///
/// The first retry comes within 5 ms, because usually the server was just restarted or one connection was cut. Then the pauses double from
/// 50 ms to 800 ms, so that the pool is connected within a second after the server is back. Jitter shortens each pause by up to half, so
/// that instances do not retry at the same time.
struct Backoff: Equatable {
    /// A connection that was open for longer than this resets the back-off when it ends.
    static let stableAfter = Duration.seconds(1)

    private static let shortest = Duration.milliseconds(50)
    private static let longest = Duration.milliseconds(800)

    private var attempt = 0

    /// The pause before the next attempt.
    /// - Parameter random: between 0 and 1.
    mutating func next(random: Double) -> Duration {
        defer { attempt += 1 }
        guard attempt > 0 else { return .milliseconds(5) * random }
        let full = attempt > 5 ? Self.longest : min(Self.shortest * (1 << (attempt - 1)), Self.longest)
        return full * (1 - random / 2)
    }

    mutating func reset() {
        attempt = 0
    }
}
