import Synchronization

/// Does work on items in groups, as databases commit: what comes while groups are being worked on waits, and makes the next group. An item that
/// comes alone waits for nothing.
final class GroupedWork<Item: Sendable, Value: Sendable>: Sendable {
    /// The results of a group, in the order of its items.
    typealias Work = @Sendable (_ group: [Item]) async -> [Result<Value, any Error>]

    private struct Waiting {
        let item: Item
        let continuation: CheckedContinuation<Value, any Error>
    }

    private struct State {
        var waiting: [Waiting] = []
        var running = 0
    }

    private let groupsAtOnce: Int
    private let largestGroup: Int
    private let work: Work
    private let state = Mutex(State())

    init(groupsAtOnce: Int, largestGroup: Int, work: @escaping Work) {
        self.groupsAtOnce = groupsAtOnce
        self.largestGroup = largestGroup
        self.work = work
    }

    /// The result of an item. Work does not end when the caller's task is cancelled: others depend on it.
    func value(_ item: Item) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let isToStart = state.withLock { state in
                state.waiting.append(Waiting(item: item, continuation: continuation))
                guard state.running < groupsAtOnce else { return false }
                state.running += 1
                return true
            }
            if isToStart { Task { await run() } }
        }
    }

    /// Works on one group after the other until none waits.
    private func run() async {
        while let group = next() {
            for (waiting, result) in zip(group, await work(group.map(\.item))) { waiting.continuation.resume(with: result) }
        }
    }

    private func next() -> [Waiting]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return nil
            }
            let group = Array(state.waiting.prefix(largestGroup))
            state.waiting.removeFirst(group.count)
            return group
        }
    }
}
