import JSON
import Testing

@testable import coach_gateway

@Suite("assess")
struct AssessCommandTests {
    @Test("says of a message its tier, the patterns, both models' scores, and the domain")
    func lines() throws {
        let assessor = try CoachingFiles(root: try DataFolders.required()).assessor()
        func assess(_ line: String) throws -> JSONValue { try JSONValue(parsing: Array(AssessCommand.answer(to: line, by: assessor).utf8)) }

        let danger = try assess("I am going to \"kill myself\" tonight")
        #expect(danger["tier"]?.integer == 3 && danger["categories"]?.elements?.first?.string == "suicide")
        #expect(danger["patterns"]?.elements?.contains { $0.string == "en.suicide.intent" } == true)
        #expect(danger["text"]?.string == "I am going to \"kill myself\" tonight" && danger["score"]?.number != nil)

        let calm = try assess("I want to get in shape")
        #expect(calm["tier"]?.integer == 0 && calm["patterns"]?.elements?.isEmpty == true && calm["domain"]?.string == "fitness")
        #expect(calm["linear_score"]?.number.map { Double($0) }.map { $0 < 0.1 } == true)
        #expect(calm["score_in_context"] == .null)

        let (fragment, boots) = ("I got them this morning.", "I need new hiking boots for Saturday, my old ones leak.")
        #expect(try assess(fragment)["tier"]?.integer.map { $0 >= 2 } == true)
        for earlier in [boots, "I have been to town.\t\(boots)"] {
            let answer = try assess("\(earlier)\t\(fragment)")
            #expect(answer["tier"]?.integer == 0 && answer["score_in_context"]?.number.map { $0 < 0.4 } == true, "\(answer)")
            #expect(answer["text"]?.string == fragment)
        }
        #expect(try assess("\(boots)\t")["text"]?.string == "")
    }
}
