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

        /// Fails for a group with a negative number.
        func work(_ group: [Int]) async throws -> [Int] {
            groups.withLock { $0.append(group) }
            for await _ in released { break }
            guard group.allSatisfy({ $0 >= 0 }) else { throw CancellationError() }
            return group.map { $0 * 2 }
        }
    }

    @Test("an item that comes alone is worked on at once; those that come meanwhile make groups, in their order and none too large")
    func groups() async throws {
        let worker = Worker()
        let work = GroupedWork<Int, Int>(largestGroup: 3) { try await worker.work($0) }
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

    @Test("a group that fails, fails for each of its items, and for no other")
    func failure() async throws {
        let worker = Worker()
        let work = GroupedWork<Int, Int>(largestGroup: 8) { try await worker.work($0) }
        let first = Task.immediate { try await work.value(1) }
        try await eventually("the first group") { worker.begun == [[1]] }
        let failing = [-2, 3].map { number in Task.immediate { try await work.value(number) } }
        worker.release()
        #expect(try await first.value == 2)
        try await eventually("the second group") { worker.begun == [[1], [-2, 3]] }
        let last = Task.immediate { try await work.value(4) }
        worker.release()
        for task in failing { await #expect(throws: CancellationError.self) { try await task.value } }
        worker.release()
        #expect(try await last.value == 8)
    }
}
