import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import Synchronization
import Testing

@testable import HTTPEdge

@Suite("Creations")
struct CreationTests {
    private struct Thing: WireResource {
        static let schemaName = "Thing"
        static let fields: [Schema.Field] = [.init("id", .id), .init("name", .text)]
        var id: UUID
        var name: String

        func write(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("id", id)
                writer.member("name", name)
            }
        }
    }

    private final class Things: Feature {
        let created = Mutex<[UUID]>([])
        let fails = Mutex(false)
        /// The thing is made, and the answer is lost with the database.
        let losesAnswer = Mutex(false)

        var count: Int { created.withLock { $0.count } }

        func register(on routes: RouteTable) {
            routes.authenticated("Test").create(
                "/things", "Create",
                body: JSONBody("ThingDraft") { (body) throws(JSONFinding) in
                    (name: try body.required("name", .text(1...5)), size: try body.required("size", .integer(1...9)))
                }
            ) { [self] draft, id, _ in
                if fails.withLock({ $0 }) { throw StoreFault.unavailable(retryAfter: 1) }
                created.withLock { if !$0.contains(id) { $0.append(id) } }
                if losesAnswer.withLock({ $0 }) { throw StoreFault.unavailable(retryAfter: 1) }
                if draft.name == "limit" { throw Rejection(reason: .quotaExhausted) }
                return Thing(id: id, name: draft.name)
            }
        }
    }

    private static let body = #"{"name":"a","size":1}"#

    @Test("with a key run once, and a repeated request gets the same answer")
    func repeated() async throws {
        let things = Things()
        let edge = try EdgeFixture(things)
        let token = try edge.token()
        let headers: HTTPFields = [.idempotencyKey: "k"]
        let first = try await edge.send(.post, "/things", token: token, headers: headers, body: Self.body)
        let second = try await edge.send(.post, "/things", token: token, headers: headers, body: Self.body)
        #expect(first.status == 201 && second.status == 201 && first.json["data"] == second.json["data"])
        let spelled = try await edge.send(.post, "//things/", token: token, headers: headers, body: Self.body)
        #expect(spelled.json["data"] == first.json["data"] && things.count == 1)
        let other = try await edge.send(.post, "/things", token: token, headers: headers, body: #"{"name":"b","size":1}"#)
        #expect(other.status == 422 && other.errorCode == "BIZ_2009")
        _ = try await edge.send(.post, "/things", token: token, body: Self.body)
        #expect(things.count == 2)
        let wrong = try await edge.send(.post, "/things", token: token, headers: [.idempotencyKey: ""], body: Self.body)
        #expect(wrong.status == 422 && wrong.details["field"] == "idempotency_key")
    }

    @Test("that fail release the key, and a repeated request during one is told to wait")
    func failed() async throws {
        let things = Things()
        let edge = try EdgeFixture(things)
        let token = try edge.token()
        let headers: HTTPFields = [.idempotencyKey: "k"]
        things.fails.withLock { $0 = true }
        #expect(try await edge.send(.post, "/things", token: token, headers: headers, body: Self.body).status == 503)
        things.fails.withLock { $0 = false }
        #expect(try await edge.send(.post, "/things", token: token, headers: headers, body: Self.body).status == 201)
        edge.idempotency.claims.withLock { $0["k"]?.answer = nil }
        let waiting = try await edge.send(.post, "/things", token: token, headers: headers, body: Self.body)
        #expect(waiting.status == 429 && waiting.headers[.retryAfter] == "1")
    }

    @Test("whose answer is lost with the database are repeated with the same id, and the key stays theirs; refused ones free it")
    func lost() async throws {
        let things = Things()
        let edge = try EdgeFixture(things)
        let token = try edge.token()
        let headers: HTTPFields = [.idempotencyKey: "k"]
        things.losesAnswer.withLock { $0 = true }
        #expect(try await edge.send(.post, "/things", token: token, headers: headers, body: Self.body).status == 503)
        things.losesAnswer.withLock { $0 = false }
        let other = try await edge.send(.post, "/things", token: token, headers: headers, body: #"{"name":"b","size":1}"#)
        #expect(other.status == 422 && other.errorCode == "BIZ_2009")
        #expect(try await edge.send(.post, "/things", token: token, headers: headers, body: Self.body).status == 201)
        #expect(things.count == 1)

        let refused = #"{"name":"limit","size":1}"#
        #expect(try await edge.send(.post, "/things", token: token, headers: [.idempotencyKey: "l"], body: refused).status == 429)
        #expect(edge.idempotency.claims.withLock { $0["l"] == nil })
    }

    @Test("with an invalid body report all findings and do not use the key")
    func findings() async throws {
        let edge = try EdgeFixture(Things())
        let answer = try await edge.send(
            .post, "/things", token: try edge.token(), headers: [.idempotencyKey: "k"], body: #"{"name":"too long","size":0}"#)
        #expect(answer.status == 422 && answer.errorCode == "VAL_3001" && answer.details["field"] == "name")
        #expect(answer.details["findings"]?.elements?.compactMap { $0["field"]?.string } == ["name", "size"])
        #expect(answer.details["findings"]?.elements?.first?["message"] == "name must not be longer than 5 characters")
        #expect(edge.idempotency.isEmpty)
    }
}

/// Idempotency keys of one user, in memory.
final class FakeIdempotency: Sendable {
    struct Claimed {
        var request: IdempotentRequest
        let id = UUID()
        var isReleased = false
        var answer: CreationAnswer?
    }
    let claims = Mutex<[String: Claimed]>([:])

    var isEmpty: Bool { claims.withLock { $0.isEmpty } }

    var port: IdempotentRequests {
        IdempotentRequests(
            claim: { [self] _, request in
                claims.withLock { claims in
                    guard let known = claims[request.key] else {
                        let claimed = Claimed(request: request)
                        claims[request.key] = claimed
                        return .claimed(resourceID: claimed.id)
                    }
                    if known.request != request { return .conflict }
                    if known.isReleased {
                        claims[request.key]?.isReleased = false
                        return .claimed(resourceID: known.id)
                    }
                    return known.answer.map { .completed($0) } ?? .inProgress
                }
            },
            complete: { [self] _, key, answer in claims.withLock { $0[key]?.answer = answer } },
            release: { [self] _, key, createdNothing in
                claims.withLock { if createdNothing { $0[key] = nil } else { $0[key]?.isReleased = true } }
            })
    }
}
