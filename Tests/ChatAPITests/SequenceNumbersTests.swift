import Testing

@testable import ChatAPI

@Suite("Numbers of a response's events")
struct SequenceNumbersTests {
    @Test("grow from the opening events over the text to the closing ones", arguments: [false, true])
    func order(hasCard: Bool) {
        let numbers = SequenceNumbers(hasCard: hasCard)
        let opened = Array(0..<numbers.openings) + (1...7).map(numbers.text)
        #expect(opened == Array(0..<opened.count))
        #expect(numbers.closings(after: 7) == opened.count..<opened.count + 4, "of an answer that ended normally")
    }

    @Test("are a position in the text", arguments: [false, true])
    func cursor(hasCard: Bool) {
        let numbers = SequenceNumbers(hasCard: hasCard)
        #expect(numbers.cursor(after: nil).position == 0)
        for opening in 0..<numbers.openings { #expect(numbers.cursor(after: opening).position == 0) }
        for byte in 1...9 { #expect(numbers.cursor(after: numbers.text(endingAt: byte)).position == byte) }
    }

    @Test("of a later attempt's text are its own: a client that has the text of an earlier one is beyond every end")
    func attempts() {
        let (first, second) = (SequenceNumbers(hasCard: true), SequenceNumbers(hasCard: true, attempt: 2))
        for byte in [1, 50, 17 << 20] {
            #expect(second.cursor(after: second.text(endingAt: byte)).position == byte)
            #expect(second.cursor(after: first.text(endingAt: byte)).position > 17 << 20)
        }
        for opening in 0..<second.openings { #expect(second.cursor(after: opening).position == 0) }
    }

    @Test("of the closing events of an answer that a crash may have cut are those of no text and of no other attempt, and fit into 32 bits")
    func closings() {
        // `answer_bytes` allows 16 MiB.
        let longest = 17 << 20
        for attempt in 1...62 {
            let (numbers, next) = (SequenceNumbers(hasCard: true, attempt: attempt), SequenceNumbers(hasCard: true, attempt: attempt + 1))
            for byte in [1, longest] { #expect(!numbers.closings(after: nil).contains(numbers.text(endingAt: byte))) }
            for number in numbers.closings(after: nil) {
                #expect(!next.closings(after: nil).contains(number))
                #expect(next.cursor(after: number).position > longest, "beyond the text of the next attempt")
            }
        }
        #expect(Int32(exactly: SequenceNumbers(hasCard: true, attempt: 1000).closings(after: nil).upperBound) != nil)
    }
}
