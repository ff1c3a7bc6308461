/// The order in which a host's addresses are tried, with those that failed lately last. Pure: the clock is an argument.
struct AddressOrder {
    /// How long an address that failed is tried after the others.
    static let avoidance = Duration.seconds(60)
    /// The most addresses that are remembered as failed.
    static let mostFailed = 256

    private var failures: [String: MonotonicInstant] = [:]

    mutating func failed(_ address: String, at now: MonotonicInstant) {
        if failures.count >= Self.mostFailed { failures = failures.filter { now < $0.value + Self.avoidance } }
        if failures.count < Self.mostFailed { failures[address] = now }
    }

    /// The two families alternate, beginning with that of the first (RFC 8305 §4); addresses that failed lately come last.
    func ordered(_ addresses: [String], at now: MonotonicInstant) -> [String] {
        let isSix = { (address: String) in address.contains(":") }
        var first = addresses.filter { isSix($0) == addresses.first.map(isSix) }[...]
        var second = addresses.filter { isSix($0) != addresses.first.map(isSix) }[...]
        var mixed: [String] = []
        while !first.isEmpty || !second.isEmpty {
            if let next = first.popFirst() { mixed.append(next) }
            if let next = second.popFirst() { mixed.append(next) }
        }
        guard !failures.isEmpty else { return mixed }
        let isAvoided = { (address: String) in failures[address].map { now < $0 + Self.avoidance } ?? false }
        return mixed.filter { !isAvoided($0) } + mixed.filter(isAvoided)
    }
}
