/// How long to wait before the next attempt. Pure: chance is an argument.
///
/// The first retry comes at once, because most often a server was just restarted or one connection cut; then the waits double from 50 ms to
/// at most 800 ms, so that the pool is back within a second of the server. Each is shortened by up to half, lest all instances come at the
/// same moment.
struct Backoff: Equatable {
    /// A connection that lived this long was a success: the next retry is the first one again.
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
