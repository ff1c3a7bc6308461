/// The addresses of names, and how long each answer may be used. Pure: the clock is an argument.
struct NameTable {
    /// How long an answer is used without asking again. The system's resolver does not tell how long it is valid; libcurl's default is a minute too.
    static let freshness = Duration.seconds(60)
    /// How long an answer is used while no newer one can be had, or is on its way (RFC 8767 recommends one to three days for resolvers; providers
    /// move their addresses within minutes to hours).
    static let staleness = Duration.seconds(3600)
    /// After a look-up that failed, the next is made not before this.
    static let retryInterval = Duration.seconds(5)
    /// Names remembered; providers are few.
    static let mostNames = 256

    enum Lookup: Equatable {
        /// Use these; when `refresh` is true, ask for newer ones beside.
        case known([String], refresh: Bool)
        /// Ask, and wait for the answer, unless somebody has asked (`isAsked`).
        case unknown(isAsked: Bool)
    }

    private struct Entry {
        var addresses: [String] = []
        var answeredAt: Moment?
        var isAsked = false
        var nextQuestion: Moment?
    }

    private var entries: [String: Entry] = [:]

    /// What is known of a name. Whoever is told to ask does so, and calls `answered`.
    mutating func look(up name: String, at now: Moment) -> Lookup {
        var entry = entries[name] ?? Entry()
        defer { entries[name] = entry }
        guard let answeredAt = entry.answeredAt, now < answeredAt + Self.staleness else {
            defer { entry.isAsked = true }
            return .unknown(isAsked: entry.isAsked)
        }
        let isDue = now >= max(answeredAt + Self.freshness, entry.nextQuestion ?? answeredAt)
        let refresh = isDue && !entry.isAsked
        if refresh { entry.isAsked = true }
        return .known(entry.addresses, refresh: refresh)
    }

    /// The answer to a question; nil when there was none. A name without an answer is asked for again by the next who needs it.
    mutating func answered(_ name: String, _ addresses: [String]?, at now: Moment) {
        var entry = entries[name] ?? Entry()
        entry.isAsked = false
        if let addresses {
            entry.addresses = addresses
            entry.answeredAt = now
            entry.nextQuestion = nil
        } else {
            entry.nextQuestion = now + Self.retryInterval
        }
        entries[name] = entry.answeredAt == nil ? nil : entry
        if entries.count > Self.mostNames { entries = entries.filter { $0.value.isAsked || $0.key == name } }
    }
}

/// In which order a host's addresses are tried. Pure: the clock is an argument.
struct AddressOrder {
    /// How long an address that failed is tried after the others.
    static let avoidance = Duration.seconds(60)
    /// Addresses remembered as failed.
    static let mostFailed = 256

    private var failures: [String: Moment] = [:]

    mutating func failed(_ address: String, at now: Moment) {
        if failures.count >= Self.mostFailed { failures = failures.filter { now < $0.value + Self.avoidance } }
        if failures.count < Self.mostFailed { failures[address] = now }
    }

    /// The two families by turns, beginning with that of the first (RFC 8305 §4), and those that failed lately at the end.
    func ordered(_ addresses: [String], at now: Moment) -> [String] {
        let isSix = { (address: String) in address.contains(":") }
        var mine = addresses.filter { isSix($0) == addresses.first.map(isSix) }[...]
        var others = addresses.filter { isSix($0) != addresses.first.map(isSix) }[...]
        var mixed: [String] = []
        while !mine.isEmpty || !others.isEmpty {
            if let next = mine.popFirst() { mixed.append(next) }
            if let next = others.popFirst() { mixed.append(next) }
        }
        guard !failures.isEmpty else { return mixed }
        let isAvoided = { (address: String) in failures[address].map { now < $0 + Self.avoidance } ?? false }
        return mixed.filter { !isAvoided($0) } + mixed.filter(isAvoided)
    }
}
