import Foundation
import TestSupport
import Testing

@Suite("The chat command", .paced)
struct ChatCommandTests {
    @Test("runs a conversation over a pipe: two lines, two answers, and the second turn has the first in its history")
    func conversation() async throws {
        let testBed = try await TestBed.shared()
        let (user, first, second) = (UUID().uuidString.lowercased(), marker(), marker())
        let chat = try Program(
            ["chat", "--url", "http://127.0.0.1:\(testBed.gateway.port)"], environment: ["COACH_TOKEN": Token(user: user).text],
            takesInput: true)
        try chat.type("How do I ask my boss for a raise? \(first) \(sim(["text": "Name the number first."]))")
        try await eventually("the first answer in\n\(chat.output)") { chat.output.contains("Name the number first.") }
        #expect(chat.output.contains("career_coaching"))
        try chat.type("And if she says no? \(second) \(sim(["text": "Then ask what would change it."]))")
        try await eventually("the second answer in\n\(chat.output)") { chat.output.contains("Then ask what would change it.") }
        chat.endInput()
        #expect(try await chat.exit(within: 10) == 0)
        let request = try #require(try await testBed.simulator.requests(containing: second).first)
        #expect(request.messages.map(\.role) == ["system", "user", "assistant", "user"])
        #expect(request.messages[1].content.contains(first) && request.messages[2].content == "Name the number first.")
    }

    @Test("prints crisis resources for a message at risk, and user messages of errors")
    func danger() async throws {
        let testBed = try await TestBed.shared()
        let arguments = ["chat", "--url", "http://127.0.0.1:\(testBed.gateway.port)", "--message"]
        let environment = ["COACH_TOKEN": Token(user: UUID().uuidString.lowercased()).text]
        let crisis = try await Program.run(arguments + ["I want to kill myself \(sim(["text": "I am here."]))"], environment: environment)
        #expect(
            crisis.status == 0 && crisis.output.contains("findahelpline.com") && crisis.output.contains("I am here."), "\(crisis.output)")
        let refused = try await Program.run(arguments + ["Hello"], environment: ["COACH_TOKEN": "not.a.token"])
        #expect(refused.status != 0 && refused.output.contains("I had trouble signing you in."), "\(refused.output)")
        let nobody = try await Program.run(["chat", "--message", "Hello"])
        #expect(nobody.status != 0 && nobody.output.contains("COACH_TOKEN"))
    }
}
