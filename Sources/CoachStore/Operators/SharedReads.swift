/// Reads whose value is the same for every caller. Callers that ask for a value at the same time, or soon after, share one read.
///
/// Callers that wait for a read also share its error, so that not all of them repeat a read that timed out. Later callers read again. After an error that
/// concerns one caller only, such as one about their rights, the others read for themselves.
actor SharedReads<Key: Hashable & Sendable, Value: Sendable> {
    private struct Entry {
        let number: Int
        let read: Task<Value, any Error>
    }

    private let lifetime: Duration
    private let capacity: Int
    private let isOwn: @Sendable (any Error) -> Bool
    private let isKept: @Sendable (Value) -> Bool
    private var entries: [Key: Entry] = [:]
    private var next = 0

    /// - Parameters:
    ///   - lifetime: how long a value is shared after it was read.
    ///   - capacity: the number of keys whose reads are shared at a time; each caller reads further keys for itself.
    ///   - isOwn: true for errors that concern only the caller whose read failed.
    ///   - isKept: false for values that are too large to keep, so that only the callers that wait for them share them.
    init(
        lifetime: Duration, capacity: Int, isOwn: @escaping @Sendable (any Error) -> Bool, isKept: @escaping @Sendable (Value) -> Bool
    ) {
        self.lifetime = lifetime
        self.capacity = capacity
        self.isOwn = isOwn
        self.isKept = isKept
    }

    /// The value of a key: from the read of another caller if there is one, else by `read`.
    func value(of key: Key, read: @escaping @Sendable () async throws -> Value) async throws -> Value {
        if let entry = entries[key] {
            do { return try await entry.read.value } catch { guard isOwn(error) else { throw error } }
            return try await read()
        }
        guard entries.count < capacity else { return try await read() }
        next += 1
        // Not cancelled with its caller, because others may wait for it.
        let entry = Entry(number: next, read: Task { try await read() })
        entries[key] = entry
        do {
            let value = try await entry.read.value
            expire(key, entry.number, after: isKept(value) ? lifetime : .zero)
            return value
        } catch {
            expire(key, entry.number, after: .zero)
            throw error
        }
    }

    private func expire(_ key: Key, _ number: Int, after time: Duration) {
        guard time > .zero else { return remove(key, number) }
        // Ends by itself after this time; nothing cancels it.
        Task {
            try? await Task.sleep(for: time)
            remove(key, number)
        }
    }

    private func remove(_ key: Key, _ number: Int) {
        if entries[key]?.number == number { entries[key] = nil }
    }
}
