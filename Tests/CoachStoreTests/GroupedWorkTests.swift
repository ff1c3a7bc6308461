import Synchronization
import TestSupport
import Testing

@testable import CoachStore

@Suite("Grouped work")
struct GroupedWorkTests {
    /// Remembers the groups, each of which is worked on until it is released.
    private final class Worker: Sendable {
        private let groups = Mutex<[[Int]]>([])
        private let (released, releases) = AsyncStream<Void>.makeStream()

        var begun: [[Int]] { groups.withLock { $0 } }

        func release() { releases.yield() }

        /// A negative number fails.
        func work(_ group: [Int]) async -> [Result<Int, any Error>] {
            groups.withLock { $0.append(group) }
            for await _ in released { break }
            return group.map { $0 < 0 ? .failure(CancellationError()) : .success($0 * 2) }
        }
    }

    @Test("an item that comes alone is worked on at once; those that come meanwhile make groups, in their order and none too large")
    func groups() async throws {
        let worker = Worker()
        let work = GroupedWork<Int, Int>(groupsAtOnce: 1, largestGroup: 3) { await worker.work($0) }
        let first = Task.immediate { try await work.value(1) }
        try await eventually("the first group") { worker.begun == [[1]] }
        let others = (2...6).map { number in Task.immediate { try await work.value(number) } }
        for begun in [[[1], [2, 3, 4]], [[1], [2, 3, 4], [5, 6]]] {
            worker.release()
            try await eventually("the next group") { worker.begun == begun }
        }
        worker.release()
        #expect(try await first.value == 2)
        for (place, task) in others.enumerated() { #expect(try await task.value == (place + 2) * 2) }
        // Afterwards as at the beginning.
        let last = Task.immediate { try await work.value(7) }
        try await eventually("the last group") { worker.begun.last == [7] }
        worker.release()
        #expect(try await last.value == 14)
    }

    @Test("each item has its own result")
    func results() async throws {
        let worker = Worker()
        let work = GroupedWork<Int, Int>(groupsAtOnce: 1, largestGroup: 8) { await worker.work($0) }
        let tasks = [1, -2, 3].map { number in Task.immediate { try await work.value(number) } }
        worker.release()
        #expect(try await tasks[0].value == 2)
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        #expect(try await tasks[2].value == 6)
        #expect(worker.begun == [[1, -2, 3]])
    }
}
