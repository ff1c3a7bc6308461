import CoachCore
import Foundation
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("CheckpointShares")
struct CheckpointSharesTests {
    @Test("few turns are saved at once, many in shares: each turn in one, and in the same while the number of shares stays")
    func shares() throws {
        let turns = (0..<700).map { _ in
            var facts = TurnFacts.sample
            facts.identity.turnID = TurnID(UUID())
            return FakeModel().turn(facts)
        }
        func shares(_ turns: some Sequence<LiveTurn>) -> [[TurnID]] {
            let turns = Array(turns)
            let split = CheckpointShares(turns: turns.count)
            let registry = TurnRegistry()
            for turn in turns { registry.insert(turn) }
            return (0..<split.count).map { share in
                registry.running { split.share(of: $0) == share }.map(\.facts.identity.turnID)
            }
        }
        #expect(shares(turns.prefix(256)).map(Set.init) == [Set(turns.prefix(256).map(\.facts.identity.turnID))])
        #expect(shares([]) == [[]] && CheckpointShares(turns: 100_000).count == 16)
        let (all, later) = (shares(turns), shares(turns.dropFirst(100).reversed()))
        #expect(all.count == 4 && all.allSatisfy { (1...256).contains($0.count) })
        #expect(Set(all.joined()).count == 700 && all.joined().count == 700)
        #expect(later.count == 4 && zip(all, later).allSatisfy { Set($0).isSuperset(of: $1) })
    }

    @Test("shares that are due are saved together, at least the next one and none twice")
    func due() {
        func due(_ next: Int, _ milliseconds: Int) -> Range<Int> {
            CheckpointShares(turns: 2_048).due(from: next, after: .milliseconds(milliseconds), of: .milliseconds(240))
        }
        #expect(due(0, 0) == 0..<1 && due(0, 29) == 0..<1 && due(1, 30) == 1..<2)
        #expect(due(1, 29) == 1..<2, "the clock may wake the task early")
        #expect(due(1, 100) == 1..<4 && due(1, 240) == 1..<8 && due(7, 10_000) == 7..<8)
        #expect(CheckpointShares(turns: 0).due(from: 0, after: .seconds(9), of: .milliseconds(240)) == 0..<1)
    }
}
