import JSON
import Testing

@testable import CoachCore

/// Dialogues of several messages with the shipped model, grammar and thresholds. The floors are in the file of the dialogues.
@Suite("The safety level over dialogues")
struct DialogueTests {
    private struct Dialogue: JSONReadable {
        struct Turn: JSONReadable {
            var user: String
            var level: SafetyLevel
            var coach: String?

            init(_ json: JSONReader) throws(JSONFinding) {
                user = try json.required("user")
                level = try json.required("level", .choice)
                coach = try json.optional("coach")
                try json.rejectUnknown()
            }
        }

        var id: String
        var turns: [Turn]

        init(_ json: JSONReader) throws(JSONFinding) {
            id = try json.required("id")
            turns = try json.required("turns")
            try json.rejectUnknown()
        }

        /// The level after each message, starting from calm.
        var levels: [SafetyLevel] {
            var level = SafetyLevel.calm
            var coach: String?
            return turns.map { turn in
                level =
                    Shipped.fusion.fuse(
                        Shipped.assessor.assessFully(turn.user).risk, stored: level,
                        question: coach.map(Shipped.assessor.question(in:)) ?? CoachQuestion()
                    ).level
                coach = turn.coach
                return level
            }
        }
    }

    private struct File: JSONReadable {
        var atOrAbove: Double
        var falseEscalations: Int
        var dialogues: [Dialogue]

        init(_ json: JSONReader) throws(JSONFinding) {
            atOrAbove = try json.required("at_or_above", .number(0...1))
            falseEscalations = try json.required("false_escalations")
            dialogues = try json.required("dialogues")
            try json.rejectUnknown(besides: ["about"])
        }
    }

    @Test("enough messages reach the expected level, and calm dialogues stay calm")
    func floors() throws {
        let json = try JSONDocument(parsing: Checkout.data("Tests/CoachCoreTests/Safety/Cases/dialogues.json")).value
        let file = try #require(JSONReader.collect(json, File.init).0)
        #expect(file.dialogues.count == 23 && file.dialogues.allSatisfy { (4...8).contains($0.turns.count) })
        var missed: [String] = []
        var escalated: [String] = []
        for dialogue in file.dialogues {
            for (turn, level) in zip(dialogue.turns, dialogue.levels) {
                if level < turn.level { missed.append("\(dialogue.id): \(turn.user) (\(level.rawValue) < \(turn.level.rawValue))") }
                if level > turn.level, turn.level == .calm { escalated.append(dialogue.id) }
            }
        }
        let count = file.dialogues.reduce(0) { $0 + $1.turns.count }
        let reached = Double(count - missed.count) / Double(count)
        #expect(reached >= file.atOrAbove, "\(count - missed.count) of \(count); missed:\n\(missed.joined(separator: "\n"))")
        #expect(Set(escalated).count <= file.falseEscalations, "\(Set(escalated).sorted())")
    }
}
