/// How long a model's last answers took to their first text. Pure.
struct LatencyHistory: Equatable {
    /// The most times that are kept.
    static let size = 64
    /// Fewer do not show the slowest.
    static let enough = 20
    /// The share of the newest time in the mean.
    private static let weight = 0.2

    /// Exponentially weighted; nil before the first time.
    private(set) var mean: Duration?
    private var times: [Duration] = []
    private var next = 0

    mutating func add(_ time: Duration) {
        mean = mean.map { $0 + (time - $0) * Self.weight } ?? time
        if times.count < Self.size { times.append(time) } else { times[next] = time }
        next = (next + 1) % Self.size
    }

    /// The time within which 95 of 100 answers began; nil as long as there are too few.
    var p95: Duration? {
        guard times.count >= Self.enough else { return nil }
        return times.sorted()[(times.count * 95 + 99) / 100 - 1]
    }
}
