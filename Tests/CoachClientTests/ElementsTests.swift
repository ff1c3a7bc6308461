import Foundation
import GatewayAPI
import JSON
import Testing

@testable import CoachClient

@Suite("Resources that an app reads and changes", .timeLimit(.minutes(1)))
struct ElementsTests {
    private func client(_ server: ScriptedServer) -> CoachClient {
        CoachClient(baseURL: server.url, configuration: .init(sleep: { _ in try Task.checkCancellation() }, jitter: { 0 })) { "t" }
    }

    private static func answer(
        _ status: String = "200 OK", tag: String? = nil, cursor: String? = nil, _ data: JSONValue
    ) -> ScriptedServer.Step {
        let bytes = Envelope.success(
            meta: ResponseMeta(requestID: "r", timestamp: .now),
            pagination: Pagination(nextCursor: cursor, nextUpdatedSince: nil), data: { data.write(to: &$0) })
        let headers = ["Content-Type: application/json"] + (tag.map { ["ETag: \($0)"] } ?? [])
        return ScriptedServer.response(status, headers: headers, body: String(decoding: bytes, as: UTF8.self))
    }

    private static let consent: JSONValue = ["kind": "memory", "required": false, "granted": true, "version": "1", "decided_at": .null]
    private static func profile(_ version: Int64) -> JSONValue {
        ["version": .integer(version), "values": [], "goals": [.string("\(version)")], "situation": [], "updated_at": .null]
    }

    @Test("a list is read page by page, and only as far as the app reads")
    func pages() async throws {
        let server = try ScriptedServer { _, number in [Self.answer(cursor: "c\(number)", [Self.consent, Self.consent])] }
        defer { server.stop() }
        var count = 0
        for try await consent in client(server).consents() {
            #expect(consent.kind == "memory")
            count += 1
            if count == 5 { break }
        }
        #expect(server.requests.map(\.path) == ["", "&cursor=c0", "&cursor=c1"].map { "/api/v1/me/consents?limit=100\($0)" })
    }

    @Test("an edit that another device was faster than begins again with the newer version")
    func stale() async throws {
        let rejection = Envelope.failure(
            ErrorBody(code: .preconditionFailed, message: "", userMessage: "", action: .reload),
            meta: ResponseMeta(requestID: "r", timestamp: .now))
        let server = try ScriptedServer { request, number in
            switch (request.method, number) {
            case ("GET", _): [Self.answer(tag: "\"v\(number)\"", Self.profile(Int64(number)))]
            case (_, 1): [ScriptedServer.response("412 Precondition Failed", body: String(decoding: rejection, as: UTF8.self))]
            default: [Self.answer(tag: "\"v9\"", Self.profile(9))]
            }
        }
        defer { server.stop() }
        let edited = try await client(server).editContextProfile { ProfileChange(goals: $0.goals + ["new"]) }
        #expect(edited.tag == "\"v9\"" && edited.value.version == 9)
        #expect(server.requests.map(\.method) == ["GET", "PATCH", "GET", "PATCH"])
        #expect(server.requests.compactMap { $0.headers["if-match"] } == ["\"v0\"", "\"v2\""])
        #expect(server.requests.last?.body == #"{"goals":["2","new"]}"#)
    }

    @Test("a creation whose answer is lost is repeated with its key")
    func creation() async throws {
        let conversation: JSONValue = [
            "id": .string(Transcript.conversation.canonicalText), "title": .null, "domain": .null, "persona_id": .null,
            "last_message_at": .null, "created_at": "2026-03-01T12:00:00.000Z", "updated_at": "2026-03-01T12:00:00.000Z",
            "deleted_at": .null, "ephemeral": true,
        ]
        let server = try ScriptedServer { _, number in number == 0 ? [.reset] : [Self.answer("201 Created", conversation)] }
        defer { server.stop() }
        #expect(try await client(server).createConversation(ephemeral: true).id == Transcript.conversation)
        let keys = server.requests.compactMap { $0.headers["idempotency-key"] }
        #expect(keys.count == 2 && Set(keys).count == 1)
    }
}
