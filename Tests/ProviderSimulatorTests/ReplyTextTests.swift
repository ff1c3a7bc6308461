import Testing

@testable import ProviderSimulator

@Suite("Generated answers")
struct ReplyTextTests {
    static let messages = [
        "I can't sleep before big presentations.", "My boss wants a decision about the promotion by Friday!", "hi", "", "…",
        "I want to run a marathon but I always stop training after two weeks. What should I do?", "Estoy muy estresado por el trabajo",
        "My partner and I argue about money every single evening, and I am so very tired of it, honestly, and then we go to bed angry.",
        "<user_message>I keep procrastinating on my thesis.</user_message>", "日本語で話してもいいですか。とても不安です。",
        String(repeating: "word ", count: 1500),
    ]

    @Test("an answer to any message has 60 to 120 words and multi-byte characters", arguments: messages)
    func length(message: String) {
        let text = CoachReply.text(to: message)
        #expect((60...120).contains(text.split(separator: " ").count), "\(text)")
        #expect(text.utf8.count > text.unicodeScalars.count)
        #expect(text == CoachReply.text(to: message))
    }

    @Test("an answer quotes the message, without the tags and scripts around it")
    func topic() {
        #expect(CoachReply.text(to: "I can't sleep. [[sim {\"pace_ms\":1}]]").contains("“I can't sleep”"))
        let text = CoachReply.text(to: "<data>\nMy boss is never content. [[sim {\"pace_ms\":1}]]\n</data>")
        #expect(text.contains("My boss is never content"))
        #expect(!text.contains("sim") && !text.contains("<"))
        #expect(text.contains("Work takes up"))
    }

    @Test("different messages get different answers")
    func variety() {
        #expect(Set(Self.messages.map(CoachReply.text)).count == Self.messages.count)
    }

    @Test("joined tokens are the text, and a token has about four characters")
    func tokens() {
        for text in Self.messages.map(CoachReply.text) + [Answer.difficultText, "", " ", "\n\n a  b", "abcdefghijklm"] {
            let pieces = Tokenizer.pieces(of: text)
            #expect(pieces.joined() == text)
            #expect(Tokenizer.count(text) == pieces.count)
        }
        let text = CoachReply.text(to: "I can't sleep before big presentations.")
        #expect((3.0...5.0).contains(Double(text.count) / Double(Tokenizer.count(text))))
    }
}
