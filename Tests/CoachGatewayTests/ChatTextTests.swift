import Foundation
import GatewayAPI
import Testing

@testable import coach_gateway

@Suite("Output and commands of chat")
struct ChatTextTests {
    private func wrapped(_ pieces: [String], width: Int) -> String {
        var wrap = WordWrap(width: width)
        return pieces.map { wrap.add($0) }.joined() + wrap.finish()
    }

    @Test("lines are wrapped between words, however the text is split into pieces")
    func words() {
        let text = "Name the number first, then wait.\n\nThat is all."
        let expected = "Name the\nnumber\nfirst,\nthen wait.\n\nThat is\nall."
        #expect(wrapped([text], width: 10) == expected)
        #expect(wrapped(text.map(String.init), width: 10) == expected)
        for line in expected.split(separator: "\n") { #expect(line.count <= 10) }
    }

    @Test("a word longer than a line, and text without spaces, is broken at the line's width; wide characters count twice")
    func long() {
        #expect(wrapped(["abcdefghijkl mn"], width: 8) == "abcdefgh\nijkl mn")
        #expect(wrapped(["日本語日本語"], width: 8) == "日本語日\n本語")
    }

    @Test("indentation and repeated spaces are kept, and wrapped lines do not begin with a space")
    func spaces() {
        #expect(wrapped(["  - one\n  - two  three"], width: 10) == "  - one\n  - two\nthree")
    }

    @Test("without a terminal lines are not wrapped and nothing is buffered")
    func noTerminal() {
        var wrap = WordWrap(width: nil)
        #expect(wrap.add("no line is too lo") == "no line is too lo" && wrap.finish() == "")
    }

    @Test(
        "commands are distinguished from messages, and unknown commands are not sent",
        arguments: [
            ("", ChatInput.nothing), ("  ", .nothing), ("/quit", .quit), (" /new ", .new), ("/retry", .retry), ("/help", .help),
            ("/exit now", .unknown("/exit")), ("/Quit", .unknown("/Quit")), ("//path", .message("/path")),
            ("hello /new", .message("hello /new")),
        ])
    func input(line: String, meaning: ChatInput) {
        #expect(ChatInput(line) == meaning)
    }

    @Test("text without spaces is shown while it comes, and nothing that a terminal obeys")
    func withoutSpaces() {
        var answer = AnswerText(width: 8)
        #expect(answer.text(of: .token(content: "今日は")) == "今日は")
        #expect(answer.text(of: .token(content: "いい")) == "い\nい")
        #expect("a\u{1B}]52;c;eA==\u{7}\u{9B}2J\tb\n".withoutTerminalControls == "a]52;c;eA==2J\tb\n")
    }

    @Test("crisis resources are printed before the answer, wrapped like it, and without a domain")
    func card() {
        func resource(_ name: String, url: String?) -> SafetyResource {
            SafetyResource(name: name, phone: nil, sms: nil, url: url, hours: nil, country: nil)
        }
        let card = StreamSafety(
            severity: .concern, tier: 2, categories: ["suicide"],
            resources: [resource("Emergency", url: nil), resource("A helpline", url: "https://help.example")], message: "You matter.")
        var wrapped = AnswerText(width: 30)
        #expect(wrapped.text(of: .safety(card)) == "You matter.\n  Emergency\n  A helpline:\nhttps://help.example\n\n")
        var answer = AnswerText(width: nil)
        let events: [StreamEvent] = [
            start(domain: nil), .token(content: "I am here."), .done(StreamDone(finishReason: .stopped, messageID: UUID())),
        ]
        #expect(events.map { answer.text(of: $0) }.joined() == "I am here. (stopped)\n")
    }

    private func start(domain: String?, notice: String? = nil) -> StreamEvent {
        .start(
            StreamStart(
                turnID: UUID(), conversationID: UUID(), userMessageID: UUID(), messageID: UUID(), domain: domain, domainConfidence: nil,
                personaID: nil, model: "m", disclosure: notice.map { StreamStart.Disclosure(text: $0, version: "1") }, requestID: "r"))
    }

    @Test("the notice of talking to a machine is printed before the domain, wrapped like the answer")
    func notice() {
        var answer = AnswerText(width: 20)
        let events: [StreamEvent] = [start(domain: "mindset", notice: "You are talking to an AI."), .token(content: "Rest first.")]
        let text = events.map { answer.text(of: $0) }.joined() + answer.end()
        #expect(text == "You are talking to\nan AI.\n\n[mindset] Rest\nfirst.\n")
        var other = AnswerText(width: nil)
        #expect(other.text(of: start(domain: nil, notice: "An AI.")) == "An AI.\n\n" && other.end().isEmpty)
    }

    @Test("a resource says that a number is for text messages, and when somebody answers")
    func contacts() {
        let resource = SafetyResource(
            name: "A helpline", phone: "988", sms: "HOME to 741741", url: "https://help.example", hours: "24/7", country: "US")
        let card = StreamSafety(severity: .acute, tier: 3, categories: [], resources: [resource], message: "You matter.")
        var answer = AnswerText(width: nil)
        #expect(
            answer.text(of: .safety(card))
                == "You matter.\n  A helpline: 988 · text HOME to 741741 · https://help.example · 24/7\n\n")
    }
}
