import CoachClient
import Foundation
import GatewayAPI
import JSON
import Testing

@Suite("The SDK against a gateway", .paced)
struct ClientExampleTests {
    /// An app's session.
    private struct Session: Sendable {
        let token: String

        func accessToken() async throws -> String { token }
    }

    @Test("the example of its README runs")
    func example() async throws {
        let gateway = try await TestBed.shared().gateway
        let url = try #require(URL(string: "http://127.0.0.1:\(gateway.port)"))
        let session = Session(token: Token(user: UUID().uuidString.lowercased()).text)
        // README
        // The closure is called before each request, and once more when the gateway says that the token has expired.
        let coach = CoachClient(baseURL: url) { try await session.accessToken() }

        // A turn. A lost connection is resumed at the same byte.
        var answer = ""
        for try await event in coach.send("I keep putting things off.") {
            if case .token(let content) = event { answer += content }
        }

        // Lists are read page by page as the loop goes on.
        for try await conversation in coach.allConversations() {
            print(conversation.title ?? "untitled")
        }

        // Reads the profile, changes it, and begins again when another device was faster.
        let profile = try await coach.editContextProfile { current in
            ProfileChange(goals: current.goals + ["run 5 km"])
        }
        print(profile.value.version)

        // Brings every change since the last time into the app's own storage.
        let cache = MemoryCache()
        try await coach.synchronise(cache)
        print(await cache.conversations.count)
        // END
        #expect(!answer.isEmpty && profile.value.goals == ["run 5 km"])
        #expect(await cache.conversations.count == 1)
        #expect(await cache.profile == profile.value)
        let conversation = try #require(await cache.conversations.keys.first)
        #expect(await cache.messages[conversation]?.count == 2)

        let source = try String(contentsOfFile: #filePath, encoding: .utf8).components(separatedBy: "        // README\n")[1]
            .components(separatedBy: "        // END\n")[0]
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map { $0.hasPrefix("        ") ? $0.dropFirst(8) : $0 }
        let readme = try String(
            contentsOf: Program.checkout.appendingPathComponent("Sources/CoachClient/README.md"), encoding: .utf8)
        #expect(readme.contains("```swift\n\(lines.joined(separator: "\n"))```"))
    }

    @Test("a creator makes, previews, publishes, shares and withdraws a persona; a user meets it, online and in the copy")
    func personas() async throws {
        let gateway = try await TestBed.shared().gateway
        let url = try #require(URL(string: "http://127.0.0.1:\(gateway.port)"))
        let creatorToken = Token(user: UUID().uuidString.lowercased()).with(["app_metadata": ["role": "creator"]]).text
        let userToken = Token(user: UUID().uuidString.lowercased()).text
        let (creator, user) = (CoachClient(baseURL: url) { creatorToken }, CoachClient(baseURL: url) { userToken })

        let made = try await creator.createPersona(PersonaDraft(name: "Ada", tone: "calm"))
        var current = try await creator.persona(made.id)
        var draft = PersonaDraft(current.value)
        #expect(draft == PersonaDraft(name: "Ada", tone: "calm"))
        (draft.name, draft.starters, draft.languages) = ("Bea", ["What shall I do?"], ["en"])
        current = try await creator.replacePersona(made.id, by: draft, tag: current.tag)
        #expect(PersonaDraft(current.value) == draft)
        let stale = await #expect(throws: CoachError.self) {
            try await creator.replacePersona(made.id, by: PersonaDraft(name: "Cea"), tag: "\"v1\"")
        }
        #expect(stale?.code == .gateway(.preconditionFailed) && stale?.details?["current"]?["name"] == "Bea")
        var text = ""
        for try await event in creator.preview(made.id, "Hello") { if case .token(let content) = event { text += content } }
        #expect(!text.isEmpty)
        #expect(try await creator.publishPersona(made.id).value.publishedVersion == 1)
        let card = try await creator.card(of: made.id, inPicture: true)
        let again = try await creator.importCard(card, into: made.id, tag: "*")
        #expect(again.value.content["tone"] == "calm")
        let link = try await creator.createShareLink(for: made.id, maximumUses: 1)

        let cache = MemoryCache()
        try await user.synchronise(cache)
        #expect(await cache.personas[made.id] == nil)
        let redeemed = try await user.redeem(shareToken: link.token)
        #expect(redeemed.content["name"] == "Bea" && redeemed.content["tone"] == nil)
        try await user.synchronise(cache, limit: 1)
        #expect(await cache.personas[made.id] == redeemed)
        let conversation = try await user.createConversation(title: "With Bea", persona: made.id)
        let read = try await user.conversation(conversation.id)
        #expect(try await user.changeConversation(conversation.id, .init(title: .set("Renamed")), tag: read.tag).value.title == "Renamed")
        _ = try await creator.unpublishPersona(made.id)
        try await user.synchronise(cache)
        #expect(await cache.personas[made.id] == nil)
        #expect(await cache.conversations[conversation.id]?.title == "Renamed")
        try await creator.deletePersona(made.id)
        var names: [String] = []
        for try await persona in creator.ownPersonas() { names.append(persona.content["name"]?.string ?? "") }
        #expect(names.isEmpty)

        let named = try await user.updateMe(AccountChange(displayName: .set("Zoë"), locale: .set("en-GB"), isMinor: .set(false)))
        #expect(named.displayName == "Zoë" && named.locale == "en-GB" && named.isMinor == false)
        let cleared = try await user.updateMe(AccountChange(locale: .clear))
        #expect(cleared.displayName == "Zoë" && cleared.locale == nil && cleared.isMinor == false)
        _ = try await user.decide("memory", granted: false, version: "1")
        let refused = await #expect(throws: CoachError.self) { try await user.editContextProfile { _ in ProfileChange(goals: ["x"]) } }
        #expect(refused?.code == .gateway(.consentRequired) && refused?.details?["consents"] == ["memory"])
        var archive: [UInt8] = []
        for try await bytes in try await user.export() { archive += bytes }
        #expect(archive.starts(with: Array("PK".utf8)))
        try await user.removeAccount(confirmation: try await user.prepareRemoval())
        let gone = await #expect(throws: CoachError.self) { try await user.me() }
        #expect(gone?.code == .gateway(.forbidden))
    }
}
