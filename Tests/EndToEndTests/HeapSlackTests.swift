import Testing

@testable import coach_gateway

@Suite("When the heap is trimmed")
struct HeapSlackTests {
    private static let mebibyte = 1 << 20

    private func reading(resident: Int, used: Int) -> HeapSlack.Reading {
        HeapSlack.Reading(resident: resident * Self.mebibyte, used: used * Self.mebibyte)
    }

    @Test("a small process is left alone, a large one while less than an eighth of it is free")
    func worth() {
        let slack = HeapSlack()
        #expect(!slack.isWorthTrimming(reading(resident: 45, used: 30), isStreaming: false))
        #expect(slack.isWorthTrimming(reading(resident: 47, used: 30), isStreaming: false))
        #expect(!slack.isWorthTrimming(reading(resident: 890, used: 800), isStreaming: false))
        #expect(slack.isWorthTrimming(reading(resident: 910, used: 800), isStreaming: false))
    }

    @Test("what a trim could not give back is no reason for the next one")
    func rest() {
        var slack = HeapSlack()
        slack.trimmed(to: reading(resident: 60, used: 30))
        #expect(!slack.isWorthTrimming(reading(resident: 70, used: 30), isStreaming: false))
        #expect(slack.isWorthTrimming(reading(resident: 77, used: 30), isStreaming: false))
    }

    @Test("while streams run, a trim that would hold the heap for longer than 5 ms waits")
    func streaming() {
        let slack = HeapSlack()
        #expect(slack.isWorthTrimming(reading(resident: 47, used: 30), isStreaming: true))
        #expect(slack.isWorthTrimming(reading(resident: 58, used: 40), isStreaming: true))
        #expect(!slack.isWorthTrimming(reading(resident: 70, used: 40), isStreaming: true))
        #expect(slack.isWorthTrimming(reading(resident: 70, used: 40), isStreaming: false))
        #expect(!slack.isWorthTrimming(reading(resident: 910, used: 800), isStreaming: true))
    }
}
