import CoachCore

/// The keys of requests that were received lately, by user and body. Pure: the clock is an argument. Each call takes constant time (amortized),
/// also when the table is full.
struct SentRequests {
    /// An SDK waits ten minutes for an answer, and then at most two before it repeats the request.
    private static let lifetime = Duration.seconds(12 * 60)
    static let mostRequests = 10_000
    /// Far fewer than all, so that no user can displace the requests of the others.
    static let mostOfUser = 100

    /// Requests with the same body of one user.
    struct ID: Hashable {
        let userID: UserID
        /// Of 64 bits, seeded for the process: two bodies of one user do not have the same by chance.
        let bodyHash: Int
    }

    private struct Entry {
        let id: ID
        let key: String
        /// Differs from that of an earlier entry of the same `id`.
        let number: Int
        let receivedAt: ContinuousClock.Instant
    }

    private var entries: [ID: Entry] = [:]
    /// For each user, the body hashes of the entries, oldest first.
    private var hashes: [UserID: [Int]] = [:]
    /// Oldest first. Contains removed entries too, which are skipped, and dropped before they are many.
    private var order: [Entry] = []
    private var head = 0
    private var lastNumber = 0

    var count: Int { entries.count }

    /// Nil when no such request was received within the lifetime.
    mutating func key(of id: ID, at now: ContinuousClock.Instant) -> String? {
        removeExpired(at: now)
        return entries[id]?.key
    }

    /// Makes the request the newest, and sets its key. Removes the user's oldest request when they have too many, otherwise the oldest of all when there are
    /// too many.
    mutating func set(_ key: String, of id: ID, at now: ContinuousClock.Instant) {
        removeExpired(at: now)
        remove(id)
        if let own = hashes[id.userID], own.count >= Self.mostOfUser, let first = own.first {
            remove(ID(userID: id.userID, bodyHash: first))
        }
        if entries.count >= Self.mostRequests, let oldest { remove(oldest.id) }
        lastNumber += 1
        let entry = Entry(id: id, key: key, number: lastNumber, receivedAt: now)
        entries[id] = entry
        hashes[id.userID, default: []].append(id.bodyHash)
        dropRemoved()
        order.append(entry)
    }

    private func contains(_ entry: Entry) -> Bool { entries[entry.id]?.number == entry.number }

    private var oldest: Entry? {
        mutating get {
            while head < order.count, !contains(order[head]) { head += 1 }
            return head < order.count ? order[head] : nil
        }
    }

    private mutating func removeExpired(at now: ContinuousClock.Instant) {
        while let entry = oldest, now >= entry.receivedAt + Self.lifetime { remove(entry.id) }
    }

    private mutating func remove(_ id: ID) {
        guard entries.removeValue(forKey: id) != nil else { return }
        hashes[id.userID]?.removeAll { $0 == id.bodyHash }
        if hashes[id.userID]?.isEmpty == true { hashes[id.userID] = nil }
    }

    /// Keeps the order at most twice as long as it must be. The new entry of `set` is not in the order yet.
    private mutating func dropRemoved() {
        guard order.count > 64, order.count > 2 * entries.count else { return }
        order = order[head...].filter { contains($0) }
        head = 0
    }
}
