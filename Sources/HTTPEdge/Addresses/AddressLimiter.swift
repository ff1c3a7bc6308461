/// Limits the requests of each address, in memory, with the generic cell rate algorithm. Pure: the clock is an argument.
struct AddressLimiter {
    /// Bounds the memory to some megabytes. When it is reached an arbitrary address is dropped, so that a new address is never rejected
    /// because of others.
    static let maximumAddresses = 65_536

    private static let minute = Duration.seconds(60)
    /// For each address, the time until which its earlier requests use up the limit.
    private(set) var busyUntil: [NetworkAddress: ContinuousClock.Instant] = [:]

    /// Counts one request. Returns nil when it is allowed; otherwise does not count it, and returns the seconds until the next one is
    /// allowed. `perMinute` requests may come at once.
    mutating func take(_ address: NetworkAddress, perMinute: Int, now: ContinuousClock.Instant) -> Int? {
        if let wait = wait(of: address, perMinute: perMinute, now: now) { return wait }
        if busyUntil[address] == nil, busyUntil.count >= Self.maximumAddresses { makeRoom(now) }
        busyUntil[address] = max(busyUntil[address] ?? now, now) + Self.minute / perMinute
        return nil
    }

    /// The seconds until the address is allowed its next request; nil when it is now. Counts nothing.
    func wait(of address: NetworkAddress, perMinute: Int, now: ContinuousClock.Instant) -> Int? {
        let end = max(busyUntil[address] ?? now, now) + Self.minute / perMinute
        let wait = end - (now + Self.minute)
        return wait <= .zero ? nil : max(1, Int(wait.components.seconds) + (wait.components.attoseconds > 0 ? 1 : 0))
    }

    /// Drops the addresses whose requests no longer count. It samples one address first; if that still counts, it drops only this one,
    /// because a flood of addresses must not make each request scan all of them.
    private mutating func makeRoom(_ now: ContinuousClock.Instant) {
        guard let sample = busyUntil.first else { return }
        if sample.value > now { busyUntil[sample.key] = nil } else { busyUntil = busyUntil.filter { $0.value > now } }
    }
}
