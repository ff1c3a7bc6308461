import Testing

@testable import CoachCore

@Suite("Plain statements of danger")
struct PlainStatementTests {
    @Test("get a card, whatever is said around them", arguments: ["en", "es", "de", "fr", "pt"])
    func cards(language: String) throws {
        var (section, frames, statements) = ("", [String](), [String]())
        for line in try Checkout.cases("plain-statements.txt") {
            let text = String(line.dropFirst(2))
            if line.hasPrefix("#") { section = text }
            guard section == language else { continue }
            if line.hasPrefix(">") { frames.append(text) }
            if line.hasPrefix("+") { statements.append(text) }
        }
        #expect(frames.count >= 7 && statements.count >= 24)
        for statement in statements {
            let missed = frames.map { $0.replacing("{}", with: statement) }.filter { Shipped.assessor.assessFully($0).risk.tier < .crisis }
            #expect(missed.isEmpty, "\(missed)")
        }
    }
}
