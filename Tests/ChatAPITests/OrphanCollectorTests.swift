import CoachCore
import Logging
import Synchronization
import TestSupport
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("OrphanCollector")
struct OrphanCollectorTests {
    /// Orphaned turns, read in lots of two, that remain until they are ended.
    private final class Orphans: Sendable {
        let turns: [OrphanedTurn]
        let repository: FakeRepository
        private let lots = Mutex<[[TurnID]]>([])

        init(_ count: Int, _ repository: FakeRepository) {
            turns = (0..<count).map { _ in
                OrphanedTurn(
                    start: TurnStart(facts: .sample, promptTokens: 0, answeredBy: nil), content: "Kept", durationMilliseconds: 9)
            }
            self.repository = repository
        }

        /// The turns of each lot that was not empty.
        var all: [[TurnID]] { lots.withLock { $0 } }

        /// Runs a collector until `isDone`.
        func collect(until isDone: () -> Bool) async throws {
            let recovery = TurnRecovery.fake(orphans: { [self] tried in
                let ended = Set(repository.receipts.map(\.identity.turnID) + repository.abandoned.map(\.turnID))
                let left = turns.filter { !ended.contains($0.facts.identity.turnID) && !tried.contains($0.facts.identity.turnID) }
                let lot = Array(left.prefix(2))
                if !lot.isEmpty { lots.withLock { $0.append(lot.map(\.facts.identity.turnID)) } }
                return lot
            })
            let collector = OrphanCollector(
                recovery: recovery, repository: repository.repository, prices: LiveValue(PriceBook([])), ratios: TokenRatios(),
                registry: repository.registry, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                interval: .milliseconds(1))
            let running = Task { try await collector.run() }
            try await eventually("the end of the orphans", isDone)
            running.cancel()
            try await running.value
        }
    }

    @Test("all orphans of a round are ended, a lot after the other, also after some that cannot be ended yet")
    func lots() async throws {
        let orphans = Orphans(5, FakeRepository(failures: 2))
        try await orphans.collect { orphans.repository.receipts.count == 5 }
        #expect(orphans.repository.receipts.allSatisfy { $0.status == .interrupted && $0.content == "Kept" })
        // The first two failed, and were not read again before the others.
        let (first, others) = (Set(orphans.all[0]), orphans.all[1...2].flatMap { $0 })
        #expect(first.isDisjoint(with: others) && others.count == 3 && Set(orphans.all[3]) == first)
    }

    @Test("a turn that runs here is not ended, however long it takes")
    func running() async throws {
        let orphans = Orphans(2, FakeRepository(failures: 0))
        orphans.repository.registry.insert(LiveTurn(tailing: orphans.turns[0].facts))
        // The first round has both, the others that one alone.
        try await orphans.collect { orphans.all.count >= 3 }
        #expect(orphans.repository.receipts.map(\.identity) == [orphans.turns[1].facts.identity])
    }

    @Test("an orphan whose receipt is rejected ends as failed")
    func rejected() async throws {
        let orphans = Orphans(1, FakeRepository(failures: 0))
        orphans.repository.reject()
        try await orphans.collect { orphans.repository.receipt != nil }
        #expect(orphans.repository.receipt?.status == .failed && orphans.repository.receipt?.errorCode == "SYS_5000")
        #expect(orphans.repository.receipt?.identity == orphans.turns[0].facts.identity && orphans.repository.attempts == 2)
        #expect(orphans.repository.abandonments == 0)
    }

    @Test("an orphan whose failures are rejected, too, is abandoned; it stays for the next round until that succeeds")
    func abandoned() async throws {
        let orphans = Orphans(1, FakeRepository(failures: 0))
        orphans.repository.reject(failures: .max)
        orphans.repository.rejectAbandoning()
        try await orphans.collect {
            if orphans.repository.abandonments >= 3 { orphans.repository.letAbandon() }
            return !orphans.repository.abandoned.isEmpty
        }
        #expect(orphans.repository.abandoned == [orphans.turns[0].facts.identity] && orphans.repository.receipt == nil)
        #expect(orphans.repository.attempts == 3 * orphans.repository.abandonments)
    }
}
