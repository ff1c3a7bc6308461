/// The times from request to first text of a model's last answers. Pure.
struct LatencyHistory: Equatable {
    /// How many times are kept.
    static let size = 64
    /// How many times are needed to tell the slowest answers.
    static let enough = 20
    /// The weight of the newest time in the mean.
    private static let weight = 0.2

    /// The mean, in which newer times count more; nil before the first time.
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
