import CoachCore
import Synchronization
import Testing

@testable import CoachStore

@Suite struct SharedReadsTests {
    private struct Refused: Error {}
    private struct Late: Error {}

    /// Reads that end when they are let go, with the number of the read.
    private final class Source: Sendable {
        private let begun = Mutex(0)
        private let gate = AsyncStream.makeStream(of: Void.self)

        var count: Int { begun.withLock { $0 } }

        func read() async -> Int {
            let number = begun.withLock { begun in
                begun += 1
                return begun
            }
            for await _ in gate.stream { break }
            return number
        }

        func letGo() { gate.continuation.finish() }
    }

    private final class Arrivals: Sendable {
        private let total = Mutex(0)

        var count: Int { total.withLock { $0 } }

        func note() { total.withLock { $0 += 1 } }
    }

    private func shared(capacity: Int = 8, isKept: @escaping @Sendable (Int) -> Bool = { _ in true }) -> SharedReads<String, Int> {
        SharedReads(lifetime: .seconds(60), capacity: capacity, isOwn: { $0 is Refused }, isKept: isKept)
    }

    @Test func manyCallersAreServedByOneRead() async throws {
        let (reads, source) = (shared(), Source())
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<10 { group.addTask { try await reads.value(of: "costs") { await source.read() } } }
            while source.count == 0 { await Task.yield() }
            source.letGo()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 1, count: 10))
        // Also whoever comes later.
        #expect(try await reads.value(of: "costs") { 2 } == 1)
        #expect(try await reads.value(of: "usage") { 3 } == 3)
    }

    @Test func anErrorAboutTheCallerIsTheirOwn() async throws {
        let (reads, source) = (shared(), Source())
        let first = Task {
            try await reads.value(of: "costs") {
                _ = await source.read()
                throw Refused()
            }
        }
        while source.count == 0 { await Task.yield() }
        let second = Task { try await reads.value(of: "costs") { 2 } }
        source.letGo()
        await #expect(throws: Refused.self) { try await first.value }
        #expect(try await second.value == 2)

        await #expect(throws: Refused.self) { try await reads.value(of: "usage") { throw Refused() } }
        #expect(try await reads.value(of: "usage") { 3 } == 3)
    }

    @Test func anyOtherErrorIsSharedByThoseWhoWait() async throws {
        let (reads, source) = (shared(), Source())
        let first = Task {
            try await reads.value(of: "costs") {
                _ = await source.read()
                throw Late()
            }
        }
        while source.count == 0 { await Task.yield() }
        let arrived = Arrivals()
        var others: [Task<Int, any Error>] = []
        for _ in 0..<9 {
            others.append(await reads.caller(of: "costs", arrived: { arrived.note() }, read: { await source.read() }))
        }
        while arrived.count < others.count { await Task.yield() }
        source.letGo()
        await #expect(throws: Late.self) { try await first.value }
        for other in others { await #expect(throws: Late.self) { try await other.value } }
        #expect(source.count == 1)
        // It is not kept.
        #expect(try await reads.value(of: "costs") { 2 } == 2)
    }

    @Test func aCallerWhoLeavesDoesNotEndTheRead() async throws {
        let (reads, source) = (shared(), Source())
        let first = Task { try await reads.value(of: "costs") { await source.read() } }
        while source.count == 0 { await Task.yield() }
        let second = Task { try await reads.value(of: "costs") { 2 } }
        first.cancel()
        source.letGo()
        #expect(try await second.value == 1)
    }

    @Test func largeValuesAreNotKept() async throws {
        let reads = shared { $0 < 10 }
        #expect(try await reads.value(of: "costs") { 10 } == 10)
        #expect(try await reads.value(of: "costs") { 9 } == 9)
        #expect(try await reads.value(of: "costs") { 8 } == 9)
    }

    @Test func keysBeyondTheCapacityAreReadByEach() async throws {
        let reads = shared(capacity: 1)
        #expect(try await reads.value(of: "costs") { 1 } == 1)
        #expect(try await reads.value(of: "usage") { 2 } == 2)
        #expect(try await reads.value(of: "usage") { 3 } == 3)
    }
}

extension SharedReads {
    /// A caller who runs on the actor: nothing else does between `arrived` and the look for a read to share.
    fileprivate func caller(
        of key: Key, arrived: @escaping @Sendable () -> Void, read: @escaping @Sendable () async throws -> Value
    ) -> Task<Value, any Error> {
        Task {
            arrived()
            return try await self.value(of: key, read: read)
        }
    }
}
