/// Pauses between attempts to connect. Pure: randomness is an argument.
///
/// The first retry is immediate, because usually a server was just restarted or one connection cut. Then the pauses double from 50 ms to
/// 800 ms, so that the pool is back within a second of the server. Jitter shortens each by up to half, so that instances do not retry together.
struct Backoff: Equatable {
    /// A connection open for this long resets the back-off.
    static let provenLife = Duration.seconds(1)

    private static let shortest = Duration.milliseconds(50)
    private static let longest = Duration.milliseconds(800)

    private var attempt = 0

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
