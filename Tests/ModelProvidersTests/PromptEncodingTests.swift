import CoachCore
import ProviderSimulator
import RelayTestSupport
import TestSupport
import Testing

@testable import ModelProviders

@Suite("Encoding of prompts")
struct PromptEncodingTests {
    @Test("the conversation begins with the user, and neighbours of one role are one turn")
    func turns() {
        let messages: [(Prompt.Role, String)] = [
            (.system, "Be kind."), (.assistant, "Hi, I'm your coach."), (.user, "Hello"), (.user, "again"), (.assistant, "Yes?"),
            (.user, "Help"),
        ]
        let prompt = Prompt(messages: messages.map { Prompt.Message(role: $0, content: $1) }, maximumOutputTokens: 10)
        #expect(prompt.turns.map(\.role) == [.user, .assistant, .user] && prompt.turns[0].texts == ["Hello", "again"])
        let strict = prompt.withStrictRoles.messages
        #expect(strict.map(\.role) == [.system, .user, .assistant, .user] && strict[1].content == "Hello\n\nagain")
    }

    @Test("a message of white space alone is none: its neighbours are one turn")
    func blankMessages() {
        let messages: [(Prompt.Role, String)] = [
            (.system, "Be kind."), (.system, " \n"), (.user, "Hello"), (.assistant, "\n\n\u{3000}\t"), (.user, "Are you there?"),
            (.assistant, ""), (.user, "Help"),
        ]
        let prompt = Prompt(messages: messages.map { Prompt.Message(role: $0, content: $1) }, maximumOutputTokens: 10)
        #expect(prompt.systemTexts == ["Be kind."])
        #expect(prompt.turns.map(\.role) == [.user] && prompt.turns[0].texts == ["Hello", "Are you there?", "Help"])
        #expect(prompt.withStrictRoles.messages.map(\.content) == ["Be kind.", "Hello\n\nAre you there?\n\nHelp"])
    }

    @Test("takes place before the relay's thread: no token there waits 5 ms for a prompt of a megabyte", .timeLimit(.minutes(2)))
    func besideTheRelay() async throws {
        try await CallBench.run(.quick { $0.words = 3 }) { bench in
            var message = String(repeating: "How do I \"begin\"?\n", count: 60_000)
            // Otherwise this test could not fail on a quick machine.
            let clock = ContinuousClock()
            while clock.measure({ _ = bench.router.encode(CallBench.prompt(message)) }) < .milliseconds(7) { message += message }
            _ = try await bench.ask()
            let (probe, stream) = (ThreadProbe(bench.reactor), try ProbeStream(bench.reactor))
            try await eventually { stream.tokens > 10 }
            stream.reset()
            for _ in 0..<5 { #expect(try await bench.ask(message).ends == [.stop]) }
            #expect(probe.rounds > 5)
            #expect(probe.longest < .milliseconds(5), "\(probe.longest)")
            #expect(stream.tokens > 5)
            #expect(stream.longest < .milliseconds(5), "\(stream.longest)")
        }
    }
}
