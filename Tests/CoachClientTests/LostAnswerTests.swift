import Foundation
import GatewayAPI
import JSON
import Synchronization
import Testing

@testable import CoachClient

/// The gateway applies a request, and the connection is lost before its answer arrives.
@Suite("A request whose answer was lost", .timeLimit(.minutes(1)))
struct LostAnswerTests {
    static let meta = ResponseMeta(requestID: "r-1", timestamp: Timestamp(millisecondsSince1970: 0))

    static func answer(tag: String, _ resource: some WireResource) -> ScriptedServer.Step {
        let bytes = Envelope.success(meta: meta, data: { resource.write(to: &$0) })
        return ScriptedServer.response("200 OK", headers: ["ETag: \(tag)"], body: String(decoding: bytes, as: UTF8.self))
    }

    private static func rejection(
        _ status: String, _ code: ErrorCode, headers: [String] = [], details: JSONValue? = nil
    ) -> ScriptedServer.Step {
        let error = ErrorBody(code: code, message: "no", userMessage: "No.", action: .goBack, details: details)
        let bytes = Envelope.failure(error, meta: meta)
        return ScriptedServer.response(status, headers: headers, body: String(decoding: bytes, as: UTF8.self))
    }

    /// The answer to a change of another version.
    static func stale(tag: String, _ resource: some WireResource) -> ScriptedServer.Step {
        let current = try? JSONValue(parsing: JSONWriter.encode { resource.write(to: &$0) })
        return rejection(
            "412 Precondition Failed", .preconditionFailed, headers: ["ETag: \(tag)"],
            details: .object([JSONMember("current", current ?? .null)]))
    }

    func client(_ server: ScriptedServer) -> CoachClient {
        CoachClient(baseURL: server.url, configuration: .init(sleep: { _ in try Task.checkCancellation() }, jitter: { 0 })) { "t" }
    }

    /// A gateway with one profile. `loses`: whether the answer to an edit is lost, by its number from 0. `meanwhile`: an edit of another device,
    /// between a lost answer and its repetition.
    private static func gateway(
        loses: @escaping @Sendable (Int) -> Bool, meanwhile: JSONValue? = nil
    ) throws -> (server: ScriptedServer, goals: @Sendable () -> [JSONValue]) {
        let state = Mutex((version: Int64(3), goals: [JSONValue("rest")], edits: 0))
        let server = try ScriptedServer { request, _ in
            state.withLock { state in
                func profile() -> ContextProfileResource {
                    ContextProfileResource(version: state.version, values: [], goals: state.goals, situation: [], updatedAt: nil)
                }
                if request.method == "GET" { return [Self.answer(tag: "\"\(state.version)\"", profile())] }
                guard request.headers["if-match"] == "\"\(state.version)\"" else {
                    return [Self.stale(tag: "\"\(state.version)\"", profile())]
                }
                state.goals = (try? JSONValue(parsing: Array(request.body.utf8)))?["goals"]?.elements ?? []
                state.version += 1
                state.edits += 1
                guard loses(state.edits - 1) else { return [Self.answer(tag: "\"\(state.version)\"", profile())] }
                if let meanwhile {
                    state.goals = meanwhile.elements ?? []
                    state.version += 1
                }
                return [.reset]
            }
        }
        return (server, { state.withLock { $0.goals } })
    }

    @Test("changes a profile once: the repetition finds it stale, with what was sent")
    func edit() async throws {
        let (server, goals) = try Self.gateway { $0 == 0 }
        defer { server.stop() }
        let edited = try await client(server).editContextProfile { ProfileChange(goals: $0.goals + ["run 5 km"]) }
        #expect(edited.value.goals == ["rest", "run 5 km"] && edited.tag == "\"4\"")
        #expect(goals() == ["rest", "run 5 km"])
        #expect(server.requests.map(\.method) == ["GET", "PATCH", "PATCH"])
    }

    @Test("is merged again when another device has changed the profile since")
    func otherDevice() async throws {
        let (server, goals) = try Self.gateway(loses: { $0 == 0 }, meanwhile: ["sleep"])
        defer { server.stop() }
        let edited = try await client(server).editContextProfile { ProfileChange(goals: $0.goals + ["run 5 km"]) }
        #expect(edited.value.goals == ["sleep", "run 5 km"] && goals() == edited.value.goals)
    }

    @Test("is stale when the current version has other fields; the error has that version and its tag")
    func stale() async throws {
        let (server, _) = try Self.gateway(loses: { $0 == 0 }, meanwhile: ["sleep"])
        defer { server.stop() }
        let error = await #expect(throws: CoachError.self) {
            try await client(server).patchContextProfile(ProfileChange(goals: []), tag: "\"3\"")
        }
        #expect(error?.code == .gateway(.preconditionFailed) && error?.tag == "\"5\"")
        #expect(error?.details?["current"]?["goals"] == ["sleep"])
    }

    @Test("that no answer was lost of is stale, also when the current version has the fields by chance")
    func chance() async throws {
        let (server, _) = try Self.gateway { _ in false }
        defer { server.stop() }
        let error = await #expect(throws: CoachError.self) {
            try await client(server).patchContextProfile(ProfileChange(goals: ["rest"]), tag: "\"2\"")
        }
        #expect(error?.code == .gateway(.preconditionFailed))
    }

    @Test("compares fields as the gateway stores them: members in any order, and null as empty")
    func comparison() {
        func isApplied(_ sent: JSONValue, _ current: JSONValue) -> Bool {
            ResourceRequest("PATCH", "x", body: sent.bytes).isApplied(in: current)
        }
        #expect(isApplied(["goals": [["text": "a", "since": 2024]]], ["goals": [["since": 2024, "text": "a"]], "values": ["b"]]))
        #expect(isApplied(["goals": .null, "title": .null], ["goals": [], "title": .null]))
        #expect(!isApplied(["goals": ["a"]], ["goals": ["a", "b"]]) && !isApplied(["goals": ["a"]], ["goals": ["b"]]))
        #expect(!isApplied(["goals": .null], ["goals": ["a"]]) && !isApplied([:], ["goals": []]))
        #expect(!ResourceRequest("POST", "context-profile/undo").isApplied(in: ["goals": []]))
    }

    @Test("that undoes an edit has an unknown effect: the version does not tell whether an undo made it")
    func undo() async throws {
        let (server, _) = try Self.gateway(loses: { $0 == 0 })
        defer { server.stop() }
        let error = await #expect(throws: CoachError.self) { try await client(server).undoContextProfile(tag: "\"3\"") }
        #expect(error?.code == .effectUnknown && error?.action == .reload && error?.retryable == false)
        #expect(error?.tag == "\"4\"" && error?.details?["current"]?["version"] == 4)
        // Without a lost answer it is another device's.
        let stale = await #expect(throws: CoachError.self) { try await client(server).undoContextProfile(tag: "\"3\"") }
        #expect(stale?.code == .gateway(.preconditionFailed))
    }

    @Test("removes the account, or deletes a resource, although the repetition is refused")
    func removals() async throws {
        func refused(_ status: String, _ code: ErrorCode, lost: Bool) throws -> ScriptedServer {
            try ScriptedServer { _, number in lost && number % 2 == 0 ? [.reset] : [Self.rejection(status, code)] }
        }
        let id = Transcript.id(1)
        let gone = try refused("403 Forbidden", .forbidden, lost: true)
        defer { gone.stop() }
        try await client(gone).removeAccount(confirmation: "c")
        let missing = try refused("404 Not Found", .notFound, lost: true)
        defer { missing.stop() }
        try await client(missing).deleteConversation(id)
        try await client(missing).deletePersona(id)
        try await client(missing).deleteAvatar(of: id)
        try await client(missing).revokeShareLink(id, of: id)
        #expect(missing.requests.count == 8)

        // Without a lost answer the same errors are errors.
        let suspended = try refused("403 Forbidden", .forbidden, lost: false)
        defer { suspended.stop() }
        await #expect(throws: CoachError.self) { try await client(suspended).removeAccount(confirmation: "c") }
        let unknown = try refused("404 Not Found", .notFound, lost: false)
        defer { unknown.stop() }
        await #expect(throws: CoachError.self) { try await client(unknown).deleteConversation(id) }
        // A status of a captive portal says nothing about the first request.
        let portal = try ScriptedServer { _, number in
            [
                number % 2 == 0
                    ? .reset : ScriptedServer.response("403 Forbidden", headers: ["Content-Type: text/html"], body: "<p>Sign in</p>")
            ]
        }
        defer { portal.stop() }
        await #expect(throws: CoachError.self) { try await client(portal).removeAccount(confirmation: "c") }
        // And a lost answer does not make other errors a success.
        await #expect(throws: CoachError.self) { try await client(missing).removeAccount(confirmation: "c") }
    }
}
