import Foundation
import JSON
import TestSupport
import Testing

@testable import CoachCore

/// Changes of a message that leave its meaning must leave its verdict. The messages are rows that the model was trained on, so these tests
/// measure what a change costs, not how much is found.
@Suite("Crisis detection, metamorphic")
struct MetamorphicTests {
    private struct Message {
        var text: String
        var isCrisis: Bool
        var isOrdinary: Bool
    }

    private enum Change: String, CaseIterable, CustomTestStringConvertible {
        case upperCase, noPunctuation, emoji, zeroWidth, politePrefix, typingErrors, leet, spacedLetters, buriedInSentences, buriedInWords
        case laughter, smallTalk

        var testDescription: String { rawValue }

        /// Smallest share of verdicts kept. What is below 0.92 is a known weakness (MODEL.md).
        var floor: Double {
            switch self {
            case .typingErrors: 0.9
            case .buriedInSentences: 0.71
            case .buriedInWords: 0.68
            default: 0.92
            }
        }

        func apply(to text: String, _ random: inout SeededGenerator) -> String {
            switch self {
            case .upperCase: return text.uppercased()
            case .noPunctuation: return String(text.filter { !".,!?;:".contains($0) })
            case .emoji: return text + " 🙂"
            case .laughter: return text + " lol 😂"
            case .smallTalk: return text + " any tips? thanks"
            case .zeroWidth: return text.map { $0 == "e" ? "e\u{200B}" : String($0) }.joined()
            case .politePrefix: return "Hi, I hope you are well. " + text
            case .typingErrors:
                return String(text.map { $0.isLetter && Int.random(in: 0..<20, using: &random) == 0 ? "x" : $0 })
            case .leet:
                let digits: [Character: Character] = ["o": "0", "i": "1", "e": "3"]
                return text.split(separator: " ").enumerated().map { index, word in
                    index % 4 == 0 && word.count > 3 ? String(word.map { digits[$0] ?? $0 }) : String(word)
                }.joined(separator: " ")
            case .spacedLetters:
                let words = text.split(separator: " ")
                let longest = words.indices.max { words[$0].count < words[$1].count } ?? 0
                return words.indices.map { index in
                    index == longest ? words[index].map(String.init).joined(separator: " ") : String(words[index])
                }.joined(separator: "  ")
            case .buriedInSentences: return Change.filler + text + (text.last?.isLetter == true ? ". " : " ") + Change.filler
            case .buriedInWords:
                let words = Change.filler.filter { !".,".contains($0) }
                return words + text + " " + words
            }
        }

        private static let filler =
            "We spoke about the plan for the quarter, the new rota and who covers the front desk in June. The weather was fine and the train "
            + "came on time. I liked the exercise with the two lists, it took ten minutes. My notes are in the shared folder with the slides. "
    }

    private static let messages: [Message] = {
        let files = (try? Checkout.files(in: "domains/safety/rows", suffix: ".jsonl")) ?? [:]
        // Further files would make them other messages, and the floors are of these.
        let known = files.filter { Int($0.key.prefix(while: \.isNumber)).map { $0 <= 170 } ?? false }
        let lines = known.sorted { $0.key < $1.key }.flatMap { $0.value.split(separator: UInt8(ascii: "\n")) }
        return stride(from: 0, to: lines.count, by: 180).compactMap { index in
            guard let row = try? JSONValue(parsing: Array(lines[index])), case .string(let text)? = row["text"],
                case .string(let label)? = row["label"], case .string(let form)? = row["form"], text.count < 300
            else { return nil }
            return Message(text: text, isCrisis: label == "crisis", isOrdinary: label == "not-crisis" && form == "ordinary")
        }
    }()

    private static func hasCard(_ text: String) -> Bool { Shipped.assessor.assessFully(text).risk.tier >= .crisis }

    // Of the unchanged messages, assessed once for all changes.
    private static let found = messages.filter { $0.isCrisis && hasCard($0.text) }
    private static let ordinary = messages.filter(\.isOrdinary)
    private static let calm = ordinary.filter { !hasCard($0.text) }

    @Test("a change of form keeps the verdict on danger", arguments: Change.allCases)
    private func kept(_ change: Change) {
        var random = SeededGenerator(state: 1)
        let found = Self.found
        #expect(found.count >= 60)
        let kept = found.count { Self.hasCard(change.apply(to: $0.text, &random)) }
        #expect(Double(kept) >= change.floor * Double(found.count), "\(change): \(kept) of \(found.count)")
    }

    @Test("a change of form raises no false alarms", arguments: Change.allCases)
    private func falseAlarms(_ change: Change) {
        var random = SeededGenerator(state: 1)
        let ordinary = Self.ordinary
        #expect(ordinary.count >= 40)
        let raised = Self.calm.filter { Self.hasCard(change.apply(to: $0.text, &random)) }
        #expect(Double(raised.count) <= 0.03 * Double(ordinary.count), "\(change): \(raised.count) of \(ordinary.count)")
    }
}
