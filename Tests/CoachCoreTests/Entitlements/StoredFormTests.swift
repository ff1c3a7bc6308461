import CoachCore
import JSON
import TestSupport
import Testing

@Suite("The stored form of billing events")
struct StoredFormTests {
    @Test("every generated event is decoded to the encoded value")
    func events() throws {
        for seed in 0..<UInt64(200) {
            var generator = HistoryGenerator(random: SeededGenerator(state: seed))
            let events = generator.history(count: 20)
            #expect(try [BillingEvent](parsing: JSONValue.array(events.map(\.json)).bytes) == events)
        }
    }

    @Test("a timeline is decoded to the encoded value, and gives the same state as the fold at every instant")
    func timelines() throws {
        for seed in 0..<UInt64(100) {
            var generator = HistoryGenerator(random: SeededGenerator(state: seed))
            let fold = EntitlementFold(generator.history(count: 12))
            for folded in fold.entitlements(of: [BillingHistory.user, BillingHistory.anonymous], includingSandbox: seed % 2 == 0) {
                #expect(folded.userID == BillingHistory.user.userID)
                let timeline = try #require(EntitlementTimeline(json: try JSONValue(parsing: folded.timeline.json.bytes)))
                #expect(timeline == folded.timeline)
                for instant in fold.boundaries.flatMap({ [$0.advanced(by: -1), $0, $0.advanced(by: 1)] }) {
                    let state = fold.state(of: BillingHistory.user, at: instant, includingSandbox: seed % 2 == 0)
                    #expect(timeline.state(at: instant) == state)
                    // Access never ends before the subscription does.
                    let isOpen = [folded.paidUntil, folded.trialUntil].contains { $0.values.contains { $0.isAfter(instant) } }
                    #expect(isOpen || !state.isActive)
                }
            }
        }
    }

    @Test("malformed values are rejected", arguments: ["null", "[]", "{}", #"{"source":"x"}"#, #"[{"state":{}}]"#])
    func malformed(text: String) throws {
        let json = try JSONValue(parsing: Array(text.utf8))
        #expect(EntitlementTimeline(json: json) == nil)
        #expect(throws: (any Error).self) { try [BillingEvent](parsing: Array("[\(text)]".utf8)) }
        #expect(throws: (any Error).self) { try EntitlementFold(parsing: Array(text.utf8)) }
    }
}
