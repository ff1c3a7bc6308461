/// How long a job that failed waits for its next attempt. Pure.
public enum JobBackoff {
    /// The longest pause. With 20 attempts, the default of `gateway.enqueue_job`, the last begins 54 to 107 minutes after the first.
    private static let longest = Duration.seconds(600)

    /// Doubles from 1 s; the upper half of it is left to chance. `attempt`: the one that failed, from 1. `random`: 0 to 1.
    public static func pause(afterAttempt attempt: Int, random: Double) -> Duration {
        let whole = min(.seconds(1 << min(max(attempt - 1, 0), 20)), longest)
        return whole * (0.5 + 0.5 * random)
    }
}
