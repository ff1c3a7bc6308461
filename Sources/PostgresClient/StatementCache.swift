/// The prepared statements of one connection, with least-recently-used eviction. Pure.
///
/// A statement counts as prepared as soon as its preparation was sent, since the server works in order; if the preparation fails, it is
/// forgotten and the next use prepares it again.
struct StatementCache {
    struct Key: Hashable {
        let sql: String
        let parameterTypes: [UInt32]
    }

    enum Use: Equatable {
        case execute(name: String)
        case prepare(name: String, evicted: String?)
    }

    private struct Entry {
        let name: String
        var lastUse: UInt64
    }

    let capacity: Int
    private var entries: [Key: Entry] = [:]
    private var keys: [String: Key] = [:]
    private var uses: UInt64 = 0
    private var names: UInt64 = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { entries.count }

    /// The messages to send for a statement.
    mutating func use(_ key: Key) -> Use {
        uses += 1
        if let name = entries[key]?.name {
            entries[key]?.lastUse = uses
            return .execute(name: name)
        }
        let evicted = entries.count < capacity ? nil : evictOldest()
        names += 1
        let name = "s\(names)"
        entries[key] = Entry(name: name, lastUse: uses)
        keys[name] = key
        return .prepare(name: name, evicted: evicted)
    }

    /// The preparation failed, or the server has lost or outdated the statement. False when it was not known.
    @discardableResult
    mutating func forget(name: String) -> Bool {
        guard let key = keys.removeValue(forKey: name) else { return false }
        entries[key] = nil
        return true
    }

    // Linear, but only when a new statement meets a full cache.
    private mutating func evictOldest() -> String? {
        guard let oldest = entries.values.min(by: { $0.lastUse < $1.lastUse })?.name else { return nil }
        forget(name: oldest)
        return oldest
    }
}
