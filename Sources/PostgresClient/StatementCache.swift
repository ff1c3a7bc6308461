/// The names of the prepared statements of one connection, with least-recently-used eviction. Pure.
///
/// A statement counts as prepared as soon as its preparation was sent, because the server works in order. If the preparation fails, the
/// caller must call `forget`, and the next use prepares it again.
struct StatementCache {
    struct Key: Hashable {
        let sql: String
        let parameterTypes: [UInt32]
    }

    /// What to send for a statement.
    enum Use: Equatable {
        case execute(name: String)
        /// Deallocate `evicted`, prepare under `name`, then execute.
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

    /// Marks a statement as just used, and adds it if it is new.
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

    /// Removes a statement whose preparation failed, or that is unknown or outdated at the server. False when it is not in the cache.
    @discardableResult
    mutating func forget(name: String) -> Bool {
        guard let key = keys.removeValue(forKey: name) else { return false }
        entries[key] = nil
        return true
    }

    // Linear time, but only for a new statement when the cache is full.
    private mutating func evictOldest() -> String? {
        guard let oldest = entries.values.min(by: { $0.lastUse < $1.lastUse })?.name else { return nil }
        forget(name: oldest)
        return oldest
    }
}
