import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Hummingbird
import Synchronization
import Testing

@testable import HTTPEdge

@Suite("Sessions of operators in a browser")
struct SessionTests {
    private struct Routes: Feature {
        func register(on routes: RouteTable) {
            let description = RouteDescription("Test", response: .data(.any))
            let users = routes.authenticated("Test")
            users.get("/users", description) { _, context in .envelope(context) }
            users.require(.operator).get("/operators", description) { _, context in .envelope(context) }
            users.require(.operator).put("/operators", description) { _, context in .envelope(context) }
            let sessions = routes.browserSessions
            let open = routes.open("Test", addressLimit: .none)
            open.get("/session", description) { request, context in
                _ = try await sessions.expiry(request, context)
                return .envelope(context)
            }
            open.post("/session", description) { request, context in
                let session = try await sessions.open(request.headers[.authorization], request, context)
                return Response(status: .created, headers: [.setCookie: session.setCookie])
            }
            open.delete("/session", description) { request, context in
                Response(status: .noContent, headers: [.setCookie: try await sessions.close(request, context)])
            }
        }
    }

    /// The cookie of a new session, as a browser sends it.
    private func signIn(_ edge: EdgeFixture) async throws -> HTTPFields {
        let answer = try await edge.send(.post, "/session", token: try edge.token(.operator))
        let cookie = try #require(answer.headers[.setCookie])
        #expect(answer.status == 201 && cookie.contains("; HttpOnly; SameSite=Strict; Secure") && answer.headers[.rateRemaining] == "7")
        return [.cookie: "other=1; \(cookie.prefix { $0 != ";" })"]
    }

    @Test("the cookie opens operators' routes alone, until the session is closed")
    func routes() async throws {
        let edge = try EdgeFixture(Routes())
        var cookie = try await signIn(edge)
        #expect(try await edge.send(.get, "/operators", headers: cookie).status == 200)
        #expect(try await edge.send(.get, "/users", headers: cookie).status == 401)
        cookie[.origin] = "https://test"
        let closed = try await edge.send(.delete, "/session", headers: cookie)
        #expect(closed.status == 204 && closed.headers[.setCookie]?.contains("=; Path=/; Max-Age=0;") == true)
        #expect(closed.headers[.rateRemaining] == "7")
        #expect(try await edge.send(.get, "/operators", headers: cookie).errorCode == "AUTH_1002")
    }

    @Test("a session is closed also past its user's limit, which the answer states")
    func closingPastLimit() async throws {
        let edge = try EdgeFixture(Routes())
        var cookie = try await signIn(edge)
        cookie[.origin] = "https://test"
        edge.counter.state.withLock {
            $0.error = CountedRejection(rejection: Rejection(reason: .rateLimited, retryAfter: 30), rate: FakeCounter.rate)
        }
        let closed = try await edge.send(.delete, "/session", headers: cookie)
        #expect(closed.status == 204 && closed.headers[.setCookie] != nil && closed.headers[.rateRemaining] == "7")
        edge.counter.state.withLock { $0.error = nil }
        #expect(try await edge.send(.get, "/operators", headers: cookie).errorCode == "AUTH_1002")
    }

    @Test(
        "an unsafe method needs the page's own origin",
        arguments: [
            (String?.none, 403), ("https://test", 200), ("https://coach.example", 200), ("http://test", 403), ("null", 403),
            ("https://evil.example", 403), ("https://test.evil.example", 403),
        ])
    func origin(origin: String?, status: Int) async throws {
        let edge = try EdgeFixture(Routes())
        var headers = try await signIn(edge)
        headers[.origin] = origin
        #expect(try await edge.send(.put, "/operators", headers: headers).status == status)
        #expect(try await edge.send(.get, "/operators", headers: headers).status == 200)
        // A token is sent on purpose, never by a browser itself.
        #expect(try await edge.send(.put, "/operators", token: try edge.token(.operator), headers: headers).status == 200)
    }

    @Test("only an operator's valid token opens a session, and no other site's page")
    func signIn() async throws {
        let edge = try EdgeFixture(Routes())
        #expect(try await edge.send(.post, "/session").status == 401)
        #expect(try await edge.send(.post, "/session", token: "x").status == 401)
        let user = try await edge.send(.post, "/session", token: try edge.token())
        #expect(user.status == 403 && user.headers[.rateRemaining] == "7")
        let foreign = try await edge.send(
            .post, "/session", token: try edge.token(.operator), headers: [.origin: "https://evil.example"])
        #expect(foreign.status == 403 && foreign.headers[.setCookie] == nil)
        #expect(try await edge.send(.get, "/operators", headers: [.cookie: "coach_operator=x"]).status == 401)
        let unknown = SessionToken.random(for: .random()).text
        #expect(try await edge.send(.get, "/operators", headers: [.cookie: "coach_operator=\(unknown)"]).status == 401)
    }

    @Test(
        "a cookie of no session counts against the limit of its address, past which none is looked up",
        arguments: [(HTTPRequest.Method.get, "/operators", 401), (.get, "/session", 401), (.delete, "/session", 204)])
    func addressLimit(method: HTTPRequest.Method, path: String, status: Int) async throws {
        let edge = try EdgeFixture(Routes(), unauthenticated: UnauthenticatedRequestLimiter(exemptsLoopback: false) { 3 })
        func send(_ cookie: HTTPFields, from address: String = "198.51.100.1") async throws -> Int {
            try await edge.send(method, path, headers: [.cookie: cookie[.cookie] ?? "", .origin: "https://test"], from: address).status
        }
        let session = try await signIn(edge)
        #expect(try await send(session) == (method == .delete ? 204 : 200), "it does not count")
        func made() -> HTTPFields { [.cookie: "coach_operator=\(SessionToken.random(for: .random()).text)"] }
        for _ in 0..<3 { #expect(try await send(made()) == status) }
        for _ in 0..<3 { #expect(try await send(made()) == 429) }
        #expect(edge.sessions.queries == 4)
        #expect(try await send(made(), from: "198.51.100.2") == status)
        #expect(edge.sessions.queries == 5)
    }

    @Test("a suspended operator's session opens nothing")
    func suspension() async throws {
        let edge = try EdgeFixture(Routes())
        let cookie = try await signIn(edge)
        edge.counter.state.withLock {
            $0.error = CountedRejection(rejection: Rejection(reason: .suspended), rate: FakeCounter.rate)
        }
        #expect(try await edge.send(.get, "/operators", headers: cookie).errorCode == "AUTH_1003")
    }

    @Test(
        "a request is local when its Host is a loopback name and no proxy named the client",
        arguments: [
            ("127.0.0.1:8080", true), ("localhost", true), ("[::1]:8080", true), ("coach.localhost:80", true),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:80", false), ("192.168.0.1", false), ("::1", false),
        ])
    func local(host: String, isLocal: Bool) {
        let head = HTTPRequest(method: .get, scheme: "http", authority: host, path: "/")
        #expect(Request(head: head, body: .init(buffer: .init())).isLocal == isLocal)
        for name in ["Forwarded", "X-Forwarded-For", "x-forwarded-host"] {
            var forwarded = head
            forwarded.headerFields[HTTPField.Name(name)!] = "for=127.0.0.1"
            #expect(!Request(head: forwarded, body: .init(buffer: .init())).isLocal)
        }
    }
}

/// Sessions in memory.
final class FakeSessions: Sendable {
    private struct State {
        var sessions: [(token: SessionToken, expiresAt: Date)] = []
        var queries = 0
    }
    private let state = Mutex(State())

    /// How often a session was looked up or closed.
    var queries: Int { state.withLock(\.queries) }

    var port: OperatorSessions {
        OperatorSessions(
            open: { [self] caller, token in state.withLock { $0.sessions.append((token, caller.expiresAt)) } },
            expiry: { [self] token in
                state.withLock { state in
                    state.queries += 1
                    return state.sessions.first { $0.token == token }?.expiresAt
                }
            },
            close: { [self] token in
                state.withLock { state in
                    state.queries += 1
                    let position = state.sessions.firstIndex { $0.token == token }
                    if let position { state.sessions.remove(at: position) }
                    return position != nil
                }
            })
    }
}
