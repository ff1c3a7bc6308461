import CoachCore
import TestSupport
import Testing

@Suite("Many ids of one subscriber")
struct ManyAliasesTests {
    @Test("40,000 aliases in any order are folded in linear time", .timeLimit(.minutes(1)))
    func aliases() {
        // As many short ones as a body of 256 KiB has.
        let ascending = (0..<40_000).map { BillingHistory.subscriber("a\(10_000 + $0)") }
        let fold = EntitlementFold([event(0, ascending)])
        for aliases in [Array(ascending.reversed()), ascending] {
            let time = ContinuousClock().measure {
                let other = EntitlementFold([event(0, aliases)])
                #expect(other == fold && other.isSame(aliases[0], aliases[39_999]))
            }
            #expect(time < .seconds(10), "\(time)")
        }
    }

    @Test("folds with the same ids in other subscribers differ")
    func different() {
        let ids = ["a", "b", "c", "d"].map { BillingHistory.subscriber($0) }
        func fold(_ groups: [[SubscriberID]]) -> EntitlementFold { EntitlementFold(groups.enumerated().map(event)) }
        let pairs = fold([[ids[0], ids[1]], [ids[2], ids[3]]])
        #expect(pairs.isSame(ids[0], ids[1]) && !pairs.isSame(ids[0], ids[2]))
        let crossed = fold([[ids[0], ids[2]], [ids[1], ids[3]]])
        let lopsided = fold([[ids[0], ids[1], ids[2]], [ids[3]]])
        #expect(pairs != crossed && pairs != lopsided && lopsided != pairs)
    }

    private func event(_ number: Int, _ subject: [SubscriberID]) -> BillingEvent {
        BillingEvent(
            source: .revenuecat, id: "\(number)", occurredAt: BillingHistory.day(0), subject: subject, change: .identity)
    }
}
