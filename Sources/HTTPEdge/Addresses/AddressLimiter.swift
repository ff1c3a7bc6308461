/// Limits requests by address, in memory: the generic cell rate algorithm, one number an address. Pure: the clock is an argument.
struct AddressLimiter {
    /// Bounds the memory to some megabytes. Beyond it an arbitrary address is forgotten, so that a new one is never refused for others.
    static let maximumAddresses = 65_536

    private static let minute = Duration.seconds(60)
    /// For each address, how long its earlier requests count, at the rate of the limit.
    private var busyUntil: [NetworkAddress: ContinuousClock.Instant] = [:]

    var count: Int { busyUntil.count }

    /// Counts one request; returns nil, or the seconds until the next one is allowed. `perMinute` requests may come at once.
    mutating func take(_ address: NetworkAddress, perMinute: Int, now: ContinuousClock.Instant) -> Int? {
        let step = Self.minute / perMinute
        let start = max(busyUntil[address] ?? now, now)
        let wait = (start + step) - (now + Self.minute)
        guard wait <= .zero else { return max(1, Int(wait.components.seconds) + (wait.components.attoseconds > 0 ? 1 : 0)) }
        if busyUntil[address] == nil, busyUntil.count >= Self.maximumAddresses { makeRoom(now) }
        busyUntil[address] = start + step
        return nil
    }

    /// Forgets the addresses whose requests count no more. Looks at one only: when its requests still count, it alone is forgotten, because a flood
    /// of addresses must not make each request scan all.
    private mutating func makeRoom(_ now: ContinuousClock.Instant) {
        guard let sample = busyUntil.first else { return }
        if sample.value > now { busyUntil[sample.key] = nil } else { busyUntil = busyUntil.filter { $0.value > now } }
    }
}
