import Testing

@testable import CoachCore

@Suite("Words with glosses")
struct WordVectorTests {
    /// Of two columns: (3, 4), which is 5 long, (4, 3) and (-8, 6), which is 10 long.
    private let table = TextEncoder.Table(columns: 2, scales: [1, 0.5, 2], values: [3, 4, 8, 6, -4, 3])

    private func row(_ glosses: [[Int]]) -> [Float]? {
        let word = GlossedWord(name: Array("wort".utf8), glosses: glosses)
        guard let vectors = WordVectors(table: table, glossed: [word]) else { return nil }
        var row = [Float](repeating: 0, count: 2)[...]
        vectors.add(3, to: &row)
        return Array(row)
    }

    @Test(
        "are the mean of their glosses, as long as the pieces are on average",
        arguments: [
            ([[0]], [3, 4]), ([[2], [2]], [-8, 6]),
            // The mean of (3, 4) and (4, 3) is (3.5, 3.5), 4.95 long.
            ([[0, 1]], [3.536, 3.536]),
            // (3.5, 3.5) and (-8, 6) have the mean (-2.25, 4.75), 5.256 long; the three pieces are 6.667 long on average.
            ([[0, 1], [2]], [-2.854, 6.025]),
        ] as [([[Int]], [Float])])
    func mean(glosses: [[Int]], expected: [Float]) throws {
        let found = try #require(row(glosses))
        // Rounded to 8 bits.
        #expect(zip(found, expected).allSatisfy { abs($0 - $1) <= 0.03 }, "\(found)")
    }

    @Test("without a gloss, with an empty one or one of unknown pieces are refused", arguments: [[], [[]], [[0], []], [[3]]] as [[[Int]]])
    func refused(glosses: [[Int]]) {
        #expect(row(glosses) == nil)
    }
}
