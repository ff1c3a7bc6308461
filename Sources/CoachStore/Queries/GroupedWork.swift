import Synchronization

/// Does work on items in groups, one group at a time. Items that come during the work on a group wait and form the next group. An item that comes alone
/// does not wait.
final class GroupedWork<Item: Sendable, Value: Sendable>: Sendable {
    /// Returns the values of a group, in the order of its items. Its error is thrown for each of them.
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

    /// The value of an item. Cancellation of the caller does not end the work, because other callers wait for the same group.
    func value(_ item: Item) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let isToStart = state.withLock { state in
                state.waiting.append(Waiting(item: item, continuation: continuation))
                defer { state.isRunning = true }
                return !state.isRunning
            }
            // Nothing cancels it: it ends when no item waits.
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
