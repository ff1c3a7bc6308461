import Synchronization

/// Does work on items in groups, one after the other, as databases commit: what comes while a group is being worked on waits, and makes the next
/// one. An item that comes alone waits for nothing.
final class GroupedWork<Item: Sendable, Value: Sendable>: Sendable {
    /// The values of a group, in the order of its items. What it throws is thrown for each of them.
    typealias Work = @Sendable (_ group: [Item]) async throws -> [Value]

    private struct Waiting {
        let item: Item
        let continuation: CheckedContinuation<Value, any Error>
    }

    private struct State {
        var waiting: [Waiting] = []
        var isRunning = false
    }

    private let largestGroup: Int
    private let work: Work
    private let state = Mutex(State())

    init(largestGroup: Int, work: @escaping Work) {
        self.largestGroup = largestGroup
        self.work = work
    }

    /// The value of an item. Work does not end when the caller's task is cancelled: others depend on it.
    func value(_ item: Item) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let isToStart = state.withLock { state in
                state.waiting.append(Waiting(item: item, continuation: continuation))
                defer { state.isRunning = true }
                return !state.isRunning
            }
            if isToStart { Task { await run() } }
        }
    }

    /// Works on one group after the other until none waits.
    private func run() async {
        while let group = next() {
            do {
                for (waiting, value) in zip(group, try await work(group.map(\.item))) { waiting.continuation.resume(returning: value) }
            } catch {
                for waiting in group { waiting.continuation.resume(throwing: error) }
            }
        }
    }

    private func next() -> [Waiting]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            let group = Array(state.waiting.prefix(largestGroup))
            state.waiting.removeFirst(group.count)
            return group
        }
    }
}
