import Testing

@testable import ChatAPI

@Suite("Numbers of a response's events")
struct SequenceNumbersTests {
    @Test("grow from the opening events over the text to the closing ones", arguments: [false, true])
    func order(hasCard: Bool) {
        let numbers = SequenceNumbers(hasCard: hasCard)
        let opened = Array(0..<numbers.openings) + (1...7).map(numbers.text)
        #expect(opened == Array(0..<opened.count))
        let closed = (0..<SequenceNumbers.closingCount).map(numbers.closing)
        #expect(closed == closed.sorted() && closed.allSatisfy(numbers.isClosing))
    }

    @Test("are a position in the text", arguments: [false, true])
    func cursor(hasCard: Bool) {
        let numbers = SequenceNumbers(hasCard: hasCard)
        #expect(numbers.cursor(after: nil).position == 0)
        for opening in 0..<numbers.openings { #expect(numbers.cursor(after: opening).position == 0) }
        for byte in 1...9 { #expect(numbers.cursor(after: numbers.text(endingAt: byte)).position == byte) }
    }

    @Test("of closing events are those of no text and of no other attempt, and fit into 32 bits")
    func closings() {
        // `answer_bytes` allows 16 MiB.
        let longest = 17 << 20
        for attempt in 1...62 {
            let (numbers, next) = (SequenceNumbers(hasCard: true, attempt: attempt), SequenceNumbers(hasCard: true, attempt: attempt + 1))
            for byte in [1, longest] { #expect(!numbers.isClosing(numbers.text(endingAt: byte))) }
            for index in 0..<SequenceNumbers.closingCount {
                #expect(!next.isClosing(numbers.closing(index)))
                #expect(next.cursor(after: numbers.closing(index)).position > longest, "beyond the text of the next attempt")
            }
        }
        #expect(Int32(exactly: SequenceNumbers(hasCard: true, attempt: 1000).closing(3)) != nil)
    }
}
