import Testing

@testable import ModelProviders

@Suite("Prefix of whole characters")
struct PrefixTests {
    @Test("a bound never cuts a character")
    func prefix() {
        let text = Array("aé€😀".utf8)
        let expected = [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10]
        for (count, length) in expected.enumerated() { #expect(text.prefixOfWholeCharacters(count).count == length) }
        #expect(text.prefixOfWholeCharacters(99).count == 10)
    }
}
