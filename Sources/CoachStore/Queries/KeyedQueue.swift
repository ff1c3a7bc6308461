import Synchronization

/// Runs work of the same key one after the other, in the order of the calls, and work of different keys at the same time.
final class KeyedQueue<Key: Hashable & Sendable>: Sendable {
    /// For each key with running work, the callers that wait for its end.
    private let waiting = Mutex<[Key: [CheckedContinuation<Void, Never>]]>([:])

    /// A call that is cancelled while it waits stays in the queue. Its work runs in its turn, and can notice the cancellation then.
    func run<Value>(_ key: Key, _ work: () async throws -> Value) async rethrows -> Value {
        await begin(key)
        defer { end(key) }
        return try await work()
    }

    private func begin(_ key: Key) async {
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                guard waiting[key] != nil else {
                    waiting[key] = []
                    return true
                }
                waiting[key]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func end(_ key: Key) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard waiting[key]?.isEmpty == false else {
                waiting[key] = nil
                return nil
            }
            return waiting[key]?.removeFirst()
        }
        next?.resume()
    }
}
