import CoachClient
import Foundation
import GatewayAPI
import JSON
import Testing

/// `ClientRouteTests` holds that each route has a method; here each method reads a real answer.
@Suite("Answers that the SDK reads", .paced)
struct ClientAnswerTests {
    private func client(role: String? = nil) async throws -> CoachClient {
        let gateway = try await TestBed.shared().gateway
        let url = try #require(URL(string: "http://127.0.0.1:\(gateway.port)"))
        var token = Token(user: UUID().uuidString.lowercased())
        if let role { token = token.with(["app_metadata": ["role": role]]) }
        return CoachClient(baseURL: url) { [text = token.text] in text }
    }

    private func all<Element: Sendable>(_ elements: CoachClient.Elements<Element>) async throws -> [Element] {
        var found: [Element] = []
        for try await element in elements { found.append(element) }
        return found
    }

    @Test("usage, subscription, domains, consents, the profile with its history, crisis resources")
    func account() async throws {
        let user = try await client()
        for try await _ in user.send("Hello") {}
        let usage = try await user.usage()
        #expect(usage.turns == 1 && usage.messagesToday == 1 && usage.outputTokens > 0 && usage.day.count == 10)
        let subscription = try await user.subscription()
        #expect(!subscription.active && subscription.entitlement == nil && subscription.expiresAt == nil)
        let domains = try await all(user.domains())
        #expect(domains.count >= 5 && domains.allSatisfy { !$0.id.isEmpty && !$0.greeting.isEmpty && !$0.starters.isEmpty })
        let decided = try await user.decide("ai_processing", granted: true, version: "2")
        #expect(decided.granted == true && decided.version == "2" && decided.decidedAt != nil)
        #expect(try await all(user.consents()).first { $0.kind == "ai_processing" } == decided)

        var profile = try await user.contextProfile()
        profile = try await user.replaceContextProfile(ProfileChange(values: ["calm"], goals: ["run 5 km"]), tag: profile.tag)
        profile = try await user.patchContextProfile(ProfileChange(goals: []), tag: profile.tag)
        #expect(profile.value.values == ["calm"] && profile.value.goals == [])
        profile = try await user.undoContextProfile(tag: profile.tag)
        #expect(profile.value.goals == ["run 5 km"])
        let history = try await all(user.contextProfileHistory())
        #expect(history.map(\.version) == [3, 2, 1] && history.first == profile.value && history[1].goals == [])
        #expect(try await user.crisisResources(country: "GB").contains { $0.phone == "116 123" })
    }

    @Test("lists of conversations and messages, search, changes of a conversation, a report")
    func conversations() async throws {
        let user = try await client()
        let word = marker()
        for try await _ in user.send("The smallest step is a \(word)") {}
        let conversation = try #require(try await all(user.allConversations()).first)
        let messages = try await all(user.allMessages(of: conversation.id))
        #expect(messages.map(\.role) == ["user", "assistant"] && messages[0].content.contains(word) && messages[1].turnID != nil)
        let first = try await user.messages(of: conversation.id, limit: 1)
        #expect(first.hasNext && first.elements == [messages[0]])
        #expect(try await user.messages(of: conversation.id, limit: 1, cursor: first.nextCursor).elements == [messages[1]])
        let last = try await user.messages(of: conversation.id, newestFirst: true, limit: 1)
        #expect(last.hasNext && last.elements == [messages[1]])
        let before = try await user.messages(of: conversation.id, newestFirst: true, limit: 1, cursor: last.nextCursor)
        #expect(before.elements == [messages[0]] && !before.hasNext)
        #expect(try await all(user.allMessages(of: conversation.id, newestFirst: true)) == messages.reversed())
        #expect(try await user.messages(of: conversation.id, updatedSince: first.nextUpdatedSince).elements.isEmpty)
        let found = try await all(user.searchMessages(word))
        #expect(found.first { $0.message.role == "user" }?.conversationID == conversation.id)

        let listed = try await user.conversations()
        #expect(listed.elements.map(\.id) == [conversation.id])
        #expect(try await user.conversations(from: "openai").elements.isEmpty)
        let read = try await user.conversation(conversation.id)
        let changed = try await user.changeConversation(
            conversation.id, ConversationChange(title: .set("Steps"), domain: .set("mindset")), tag: read.tag)
        #expect(changed.value.title == "Steps" && changed.value.domain == "mindset")
        let cleared = try await user.changeConversation(conversation.id, ConversationChange(domain: .clear), tag: changed.tag)
        #expect(cleared.value.title == "Steps" && cleared.value.domain == nil)
        #expect(try await user.conversations(updatedSince: listed.nextUpdatedSince).elements.map(\.title) == ["Steps"])

        let report = try await user.reportAnswer(messages[1].id, reason: "other", comment: "Too short.")
        #expect(report.messageID == messages[1].id && report.reason == "other" && report.comment == "Too short.")
        let stale = await #expect(throws: CoachError.self) { try await user.deleteConversation(conversation.id, tag: read.tag) }
        #expect(stale?.code == .gateway(.preconditionFailed))
        try await user.deleteConversation(conversation.id, tag: cleared.tag)
        #expect(try await user.conversations().elements.isEmpty)
    }

    @Test("a persona's picture, versions, differences, links and figures, and what its users see")
    func personas() async throws {
        let (creator, user) = (try await client(role: "creator"), try await client())
        let made = try await creator.createPersona(PersonaDraft(name: "Ada", tone: "calm"))
        let picture = Data(AvatarFiles.pixel)
        try await creator.setAvatar(picture, of: made.id)
        #expect(try await creator.avatar(of: made.id) == picture)
        try await creator.deleteAvatar(of: made.id)
        let none = await #expect(throws: CoachError.self) { try await creator.avatar(of: made.id) }
        #expect(none?.code == .gateway(.notFound))

        var current = try await creator.persona(made.id)
        let old = current.tag
        current = try await creator.publishPersona(made.id, visibility: "listed", tag: current.tag)
        let stale = await #expect(throws: CoachError.self) { try await creator.publishPersona(made.id, tag: old) }
        #expect(stale?.code == .gateway(.preconditionFailed))
        let conversation = try await user.createConversation(persona: made.id)
        current = try await creator.replacePersona(made.id, by: PersonaDraft(name: "Bea", tone: "calm"), tag: current.tag)
        current = try await creator.publishPersona(made.id)
        let versions = try await all(creator.personaVersions(made.id))
        #expect(versions.map(\.version) == [2, 1])
        let published = try await creator.publishedVersion(1, of: made.id)
        #expect(published == versions[1] && published.content["name"] == "Ada")
        let difference = try await creator.personaDifference(made.id, from: 1, to: 2)
        #expect(difference.from == 1 && difference.to == 2 && difference.operations.count == 1)

        #expect(try await all(user.personas()).first { $0.id == made.id }?.content["name"] == "Bea")
        let behind = try await user.personaVersion(of: conversation.id)
        #expect(behind.personaID == made.id && behind.personaName == "Ada" && behind.version == 1 && behind.newestVersion == 2)
        let accepted = try await user.acceptPersonaVersion(of: conversation.id)
        #expect(accepted.version == 2 && accepted.personaName == "Bea")
        let report = try await user.reportPersona(made.id, reason: "other")
        #expect(report.personaID == made.id && report.messageID == nil && report.comment == nil)
        let statistics = try await creator.personaStatistics(made.id)
        #expect(statistics.users == nil, "fewer than 20")

        let link = try await creator.createShareLink(for: made.id, label: "Flyer", maximumUses: 3)
        #expect(try await all(creator.shareLinks(of: made.id)) == [link] && link.label == "Flyer" && link.uses == 0)
        let shared = try await user.sharedPersona(token: link.token)
        #expect(shared.id == made.id && shared.content["name"] == "Bea" && shared.content["tone"] == nil)
        try await creator.revokeShareLink(link.id, of: made.id)
        let revoked = await #expect(throws: CoachError.self) { try await user.sharedPersona(token: link.token) }
        #expect(revoked?.code == .gateway(.notFound))

        current = try await creator.rollBackPersona(made.id, to: 1, tag: current.tag)
        #expect(current.value.content["name"] == "Ada" && current.value.publishedVersion == 3)
        current = try await creator.unpublishPersona(made.id, tag: current.tag)
        #expect(current.value.status == "unpublished")
        try await creator.deletePersona(made.id, tag: current.tag)
        #expect(try await all(creator.ownPersonas()).isEmpty)
    }
}
