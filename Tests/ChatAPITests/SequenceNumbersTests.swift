import Testing

@testable import ChatAPI

@Suite("Numbers of a response's events")
struct SequenceNumbersTests {
    @Test("grow from the opening events over the text to the closing ones", arguments: [false, true])
    func order(hasCard: Bool) {
        let numbers = SequenceNumbers(hasCard: hasCard)
        let length = 7
        let all = Array(0..<numbers.openings) + (1...length).map(numbers.text) + (0..<4).map { numbers.closing($0, length: length) }
        #expect(all == Array(0..<all.count))
    }

    @Test("are a position in the text", arguments: [false, true])
    func cursor(hasCard: Bool) {
        let numbers = SequenceNumbers(hasCard: hasCard)
        #expect(numbers.cursor(after: nil).position == 0)
        for opening in 0..<numbers.openings { #expect(numbers.cursor(after: opening).position == 0) }
        for byte in 1...9 { #expect(numbers.cursor(after: numbers.text(endingAt: byte)).position == byte) }
    }
}
