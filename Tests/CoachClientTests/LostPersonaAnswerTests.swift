import Foundation
import GatewayAPI
import JSON
import Synchronization
import Testing

@testable import CoachClient

/// As `LostAnswerTests`, of changes whose body does not say what the persona is afterwards.
@Suite("A persona's change whose answer was lost", .timeLimit(.minutes(1)))
struct LostPersonaAnswerTests {
    /// A persona of the gateway. A name stands for the whole content.
    private struct Persona: Sendable {
        var revision = 3
        var status = "published"
        var visibility = "listed"
        var draft = "Bea"
        var versions = ["Ada"]

        var tag: String { "\"\(revision)\"" }

        var resource: PersonaResource {
            PersonaResource(
                id: Transcript.id(1), slug: nil, status: status, visibility: visibility,
                publishedVersion: versions.isEmpty ? nil : versions.count, publishedAt: nil, createdAt: LostAnswerTests.meta.timestamp,
                updatedAt: LostAnswerTests.meta.timestamp, content: ["name": .string(draft)])
        }

        func version(_ number: Int) -> PersonaVersionResource {
            PersonaVersionResource(
                version: number, createdAt: LostAnswerTests.meta.timestamp, content: ["name": .string(versions[number - 1])])
        }

        mutating func edit(_ name: String) {
            revision += 1
            draft = name
        }

        mutating func publish() {
            revision += 1
            status = "published"
            if versions.last != draft { versions.append(draft) }
        }

        mutating func change(_ request: ScriptedServer.Request) {
            let body = try? JSONValue(parsing: Array(request.body.utf8))
            switch request.path.split(separator: "/").last {
            case "publish":
                publish()
                visibility = body?["visibility"]?.string ?? visibility
            case "unpublish":
                revision += 1
                status = "unpublished"
            case "rollback":
                edit(versions[Int(body?["version"]?.integer ?? 1) - 1])
                if status == "published" { publish() }
            default: edit(body?["data"]?["name"]?.string ?? "")
            }
        }
    }

    /// - Parameters:
    ///   - reached: whether the first request, whose answer is lost, reaches the persona.
    ///   - meanwhile: what another device does before the repetition.
    private func gateway(
        _ persona: Persona = Persona(), reached: Bool, meanwhile: @escaping @Sendable (inout Persona) -> Void = { _ in }
    ) throws -> ScriptedServer {
        let state = Mutex((persona: persona, isFirst: true))
        return try ScriptedServer { request, _ in
            state.withLock { state in
                if request.method == "GET" {
                    let number = request.path.split(separator: "/").last.flatMap { Int($0) } ?? 0
                    return [LostAnswerTests.answer(tag: "\"v\"", state.persona.version(number))]
                }
                if state.isFirst {
                    state.isFirst = false
                    if reached { state.persona.change(request) }
                    meanwhile(&state.persona)
                    return [.reset]
                }
                if request.headers["if-match"] != state.persona.tag {
                    return [LostAnswerTests.stale(tag: state.persona.tag, state.persona.resource)]
                }
                state.persona.change(request)
                return [LostAnswerTests.answer(tag: state.persona.tag, state.persona.resource)]
            }
        }
    }

    private typealias Change = @Sendable (CoachClient) async throws -> Versioned<PersonaResource>
    private static let (id, tag) = (Transcript.id(1), "\"3\"")
    private static let publish: Change = { try await $0.publishPersona(id, visibility: "listed", tag: tag) }
    private static let unpublish: Change = { try await $0.unpublishPersona(id, tag: tag) }
    private static let rollBack: Change = { try await $0.rollBackPersona(id, to: 1, tag: tag) }

    /// The persona after a change whose first answer was lost.
    private func changed(
        _ change: Change, _ persona: Persona = Persona(), reached: Bool = true,
        meanwhile: @escaping @Sendable (inout Persona) -> Void = { _ in }
    ) async throws -> PersonaResource {
        let server = try gateway(persona, reached: reached, meanwhile: meanwhile)
        defer { server.stop() }
        return try await change(LostAnswerTests().client(server)).value
    }

    /// The error of such a change.
    private func rejection(
        _ change: Change, _ persona: Persona = Persona(), reached: Bool = true, meanwhile: @escaping @Sendable (inout Persona) -> Void
    ) async throws -> CoachError {
        let error = await #expect(throws: CoachError.self) {
            try await changed(change, persona, reached: reached, meanwhile: meanwhile)
        }
        return try #require(error)
    }

    @Test("publishes the draft once: the repetition finds that users have it")
    func publication() async throws {
        let published = try await changed(Self.publish)
        #expect(published.publishedVersion == 2 && published.status == "published")
        let first = try await changed(Self.publish, Persona(status: "draft", visibility: "link", versions: []))
        #expect(first.publishedVersion == 1 && first.visibility == "listed")
    }

    @Test("may have published when the draft was edited: before the publication or since", arguments: [true, false])
    func unknownPublication(reached: Bool) async throws {
        let error = try await rejection(Self.publish, reached: reached) { $0.edit("Cea") }
        #expect(error.code == .effectUnknown && error.action == .reload)
        #expect(error.details?["current"]?["name"] == "Cea" && error.tag == (reached ? "\"5\"" : "\"4\""))
    }

    @Test("has not published, or no longer, when the persona is open to nobody, or to others")
    func noPublication() async throws {
        let ended = try await rejection(Self.publish) { persona in
            persona.status = "unpublished"
            persona.revision += 1
        }
        #expect(ended.code == .gateway(.preconditionFailed))
        let hidden = try await rejection(Self.publish) { persona in
            persona.visibility = "link"
            persona.revision += 1
        }
        #expect(hidden.code == .gateway(.preconditionFailed))
    }

    @Test("ends a publication once; one that was published again is not ended")
    func endOfPublication() async throws {
        #expect(try await changed(Self.unpublish).status == "unpublished")
        let again = try await rejection(Self.unpublish) { $0.publish() }
        let edited = try await rejection(Self.unpublish, reached: false) { $0.edit("Cea") }
        #expect([again.code, edited.code] == [.gateway(.preconditionFailed), .gateway(.preconditionFailed)])
    }

    @Test("rolls back once: the repetition finds the version's content in the draft, and published where the persona is")
    func rollback() async throws {
        let twice = Persona(draft: "Bea", versions: ["Ada", "Bea"])
        let published = try await changed(Self.rollBack, twice)
        #expect(published.content["name"] == "Ada" && published.publishedVersion == 3)
        let draft = try await changed(Self.rollBack, Persona(status: "unpublished", draft: "Bea", versions: ["Ada", "Bea"]))
        #expect(draft.content["name"] == "Ada" && draft.publishedVersion == 2)
        let edited = try await rejection(Self.rollBack, twice) { $0.edit("Cea") }
        // Restored by hand, which publishes nothing.
        let restored = try await rejection(Self.rollBack, twice, reached: false) { $0.edit("Ada") }
        #expect([edited.code, restored.code] == [.gateway(.preconditionFailed), .gateway(.preconditionFailed)])
    }

    @Test("imports a card with an unknown effect: only the gateway knows what draft a card makes")
    func card() async throws {
        let card = Data(#"{"spec":"chara_card_v2","data":{"name":"Dea"}}"#.utf8)
        let server = try gateway(reached: true)
        defer { server.stop() }
        let error = await #expect(throws: CoachError.self) {
            try await LostAnswerTests().client(server).importCard(card, into: Self.id, tag: Self.tag)
        }
        #expect(error?.code == .effectUnknown && error?.details?["current"]?["name"] == "Dea")
    }

    @Test("that reached nobody is made by its repetition")
    func unsent() async throws {
        #expect(try await changed(Self.publish, reached: false).publishedVersion == 2)
        #expect(try await changed(Self.unpublish, reached: false).status == "unpublished")
    }
}
