import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import Synchronization
import Testing

@testable import HTTPEdge

@Suite("Authenticated routes")
struct AuthenticationTests {
    private struct Routes: Feature {
        var reads = CallCount()
        /// Called by `POST /tolerant` before it requires the count.
        var whenHandled: @Sendable () -> Void = {}

        func register(on routes: RouteTable) {
            let users = routes.authenticated("Test")
            let description = RouteDescription("Test", response: .data(.any))
            users.get("/users", description) { _, context in .envelope(context) }
            users.post("/users", description) { request, context in
                _ = try await request.collectBytes()
                throw GatewayError(.invalidInput, "invalid")
            }
            users.get("/reads", description) { _, context in
                let number = reads.next()
                guard number > 1 else { throw GatewayError.notFound }
                return .envelope(context) { $0.integer(number) }
            }
            users.counting(.beforeHandler).get("/writes", description) { _, context in .envelope(context) { $0.integer(reads.next()) } }
            users.require(.operator).get("/operators", description) { _, context in .envelope(context) }
            let handler = users.counting(.byHandler)
            handler.get("/handler", description) { _, context in .envelope(context) }
            handler.post("/handler", description) { _, _ in throw GatewayError.notFound }
            handler.put("/handler", description) { _, _ in throw StoreFault.unavailable(retryAfter: 2) }
            handler.get("/counted", description) { _, context in
                context.rateLimit.record(RateLimit(limit: 10, remaining: 4, resetAt: 60))
                return .envelope(context)
            }
            handler.post("/counted", description) { _, context in
                context.rateLimit.record(RateLimit(limit: 10, remaining: 3, resetAt: 60))
                throw GatewayError.notFound
            }
            let tolerant = users.counting(.beforeHandlerIfPossible)
            tolerant.get("/tolerant", description) { _, context in .envelope(context) }
            tolerant.post("/tolerant", description) { _, context in
                whenHandled()
                try await context.requireCounted()
                return .envelope(context)
            }
        }
    }

    private func edge() throws -> EdgeFixture { try EdgeFixture(Routes()) }

    /// How often a handler ran.
    private final class CallCount: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func next() -> Int {
            count.withLock {
                $0 += 1
                return $0
            }
        }
    }

    @Test("a request without a token is rejected before it is counted, and a wrong method before that")
    func order() async throws {
        let edge = try edge()
        #expect(try await edge.send(.get, "/users").errorCode == "AUTH_1002")
        let wrong = try await edge.send(.delete, "/users")
        #expect(wrong.status == 405 && wrong.headers[.allow] == "GET, HEAD, POST")
        #expect(edge.counter.calls == 0)
    }

    @Test("a success and an error carry the rate limit, and are counted once")
    func rate() async throws {
        let edge = try edge()
        for (method, status) in [(HTTPRequest.Method.get, 200), (.post, 422)] {
            let answer = try await edge.send(method, "/users", token: try edge.token())
            #expect(answer.status == status && answer.headers[.rateRemaining] == "7" && answer.details["safety"] == nil)
        }
        #expect(edge.counter.calls == 2)
    }

    @Test("a GET runs beside its counting, and again for a user who is new, whose row it may not have seen")
    func beside() async throws {
        let routes = Routes()
        let edge = try EdgeFixture(routes)
        edge.counter.state.withLock { $0.isNewUser = true }
        let first = try await edge.send(.get, "/reads", token: try edge.token())
        #expect(first.status == 200 && first.json["data"]?.integer == 2 && first.headers[.rateRemaining] == "7" && edge.counter.calls == 1)
        edge.counter.state.withLock { $0.isNewUser = false }
        #expect(try await edge.send(.get, "/reads", token: try edge.token()).json["data"]?.integer == 3)
    }

    @Test("a rejected caller gets the rejection, not a GET's answer, and none of their handlers runs until the rejection ends")
    func rejectedReader() async throws {
        let routes = Routes()
        let (edge, user) = (try EdgeFixture(routes), UserID.random())
        edge.counter.state.withLock { $0.error = CountedRejection(rejection: Rejection(reason: .suspended), rate: FakeCounter.rate) }
        for path in ["/writes", "/operators"] {
            #expect(try await edge.send(.get, path, token: try edge.token(.operator)).errorCode == "AUTH_1003")
        }
        #expect(routes.reads.value == 0, "counted before")
        for reason in [Rejection.Reason.rateLimited, .suspended] {
            edge.counter.state.withLock {
                $0.error = CountedRejection(rejection: Rejection(reason: reason, retryAfter: 60), rate: FakeCounter.rate)
            }
            for _ in 1...3 {
                let answer = try await edge.send(.get, "/reads", token: try edge.token(user: user))
                #expect(answer.errorCode == (reason == .suspended ? "AUTH_1003" : "BIZ_2010") && answer.headers[.rateRemaining] == "7")
            }
        }
        #expect(routes.reads.value == 1)
        edge.counter.state.withLock { $0.error = nil }
        #expect(try await edge.send(.get, "/reads", token: try edge.token(user: user)).status == 200)
    }

    @Test("a route with a role rejects all other roles, and the error has the rate limit")
    func roles() async throws {
        let edge = try edge()
        for (role, status) in [(Role?.none, 403), (.creator, 403), (.operator, 200)] {
            let answer = try await edge.send(.get, "/operators", token: try edge.token(role))
            #expect(answer.status == status && answer.headers[.rateRemaining] == "7")
            if status == 403 { #expect(answer.errorCode == "AUTH_1003") }
        }
        #expect(edge.counter.calls == 3)
    }

    @Test("a rejection by the counter has its code, the rate limit and crisis resources for a stored level")
    func rejected() async throws {
        let edge = try edge()
        edge.counter.state.withLock {
            $0.error = CountedRejection(
                rejection: Rejection(reason: .suspended, safetyLevel: .concern, region: Region(country: "GB")), rate: FakeCounter.rate)
        }
        for path in ["/users", "/tolerant"] {
            let answer = try await edge.send(.get, path, token: try edge.token())
            #expect(answer.errorCode == "AUTH_1003" && answer.headers[.rateRemaining] == "7")
            #expect(answer.text.contains("116 123"))
        }
    }

    @Test("an error to a user with a stored level has crisis resources of their region")
    func resources() async throws {
        let edge = try edge()
        edge.counter.state.withLock { $0.level = .concern }
        for path in ["/users", "/handler"] {
            let answer = try await edge.send(.post, path, token: try edge.token(), headers: [.acceptLanguage: "en-US"])
            #expect(answer.text.contains("116 123") && !answer.text.contains(#""988""#), "\(path)")
        }
    }

    @Test("with byHandler the middleware counts only requests that the handler rejected before counting")
    func byHandler() async throws {
        let edge = try edge()
        let success = try await edge.send(.get, "/handler", token: try edge.token())
        #expect(success.status == 200 && success.headers[.rateRemaining] == nil && edge.counter.calls == 0)
        let rejected = try await edge.send(.post, "/handler", token: try edge.token())
        #expect(rejected.status == 404 && rejected.headers[.rateRemaining] == "7" && edge.counter.calls == 1)
        let away = try await edge.send(.put, "/handler", token: try edge.token())
        #expect(away.status == 503 && away.headers[.retryAfter] == "2" && edge.counter.calls == 1)
        // A reached limit replaces the handler's error; an unavailable database does not.
        edge.counter.state.withLock { $0.error = CountedRejection(rejection: Rejection(reason: .rateLimited), rate: FakeCounter.rate) }
        #expect(try await edge.send(.post, "/handler", token: try edge.token()).errorCode == "BIZ_2010")
        edge.counter.state.withLock { $0.error = StoreFault.unavailable(retryAfter: 1) }
        #expect(try await edge.send(.post, "/handler", token: try edge.token()).status == 404)
    }

    @Test("what a handler counted itself stands on its answer and on its error, and is not counted again")
    func countedByHandler() async throws {
        let edge = try edge()
        for (method, status, remaining) in [(HTTPRequest.Method.get, 200, "4"), (.post, 404, "3")] {
            let answer = try await edge.send(method, "/counted", token: try edge.token())
            #expect(answer.status == status && answer.headers[.rateRemaining] == remaining && answer.headers[.rateLimit] == "10")
        }
        #expect(edge.counter.calls == 0)
    }

    @Test("without the database only beforeHandlerIfPossible routes answer, until the handler calls requireCounted")
    func databaseAway() async throws {
        let edge = try edge()
        edge.counter.state.withLock { $0.error = StoreFault.unavailable(retryAfter: 3) }
        #expect(try await edge.send(.get, "/users", token: try edge.token()).errorCode == "EXT_4003")
        let tolerant = try await edge.send(.get, "/tolerant", token: try edge.token())
        #expect(tolerant.status == 200 && tolerant.headers[.rateRemaining] == nil)
        let required = try await edge.send(.post, "/tolerant", token: try edge.token())
        #expect(required.errorCode == "EXT_4003" && required.headers[.retryAfter] == "3")
    }

    @Test("while the database hangs only beforeHandlerIfPossible routes answer; requireCounted waits for the count, and throws its error")
    func databaseHangs() async throws {
        for isAway in [false, true] {
            let (answers, database) = AsyncStream.makeStream(of: Never.self)
            let edge = try EdgeFixture(Routes(whenHandled: { database.finish() }))
            edge.counter.state.withLock { state in
                state.answers = answers
                state.error = isAway ? StoreFault.unavailable(retryAfter: 3) : nil
            }
            let required = try await edge.send(.post, "/tolerant", token: try edge.token())
            #expect(required.errorCode == (isAway ? "EXT_4003" : nil) && required.status == (isAway ? 503 : 200), "\(required.text)")
        }
        let (answers, database) = AsyncStream.makeStream(of: Never.self)
        defer { database.finish() }
        let edge = try edge()
        edge.counter.state.withLock { $0.answers = answers }
        let tolerant = try await edge.send(.get, "/tolerant", token: try edge.token())
        #expect(tolerant.status == 200 && tolerant.headers[.rateRemaining] == nil)
    }

    @Test("without the database errors have crisis resources for the level that the instance remembers")
    func rememberedDanger() async throws {
        for danger in [SafetyLevel.calm, .concern] {
            let edge = try EdgeFixture(Routes(), danger: danger)
            edge.counter.state.withLock { $0.error = StoreFault.unavailable(retryAfter: 3) }
            for (method, path) in [(HTTPRequest.Method.get, "/users"), (.post, "/tolerant"), (.post, "/handler"), (.get, "/operators")] {
                let answer = try await edge.send(method, path, token: try edge.token(), headers: [.acceptLanguage: "en-GB"])
                #expect(answer.status >= 400 && answer.text.contains("116 123") == (danger == .concern), "\(path): \(answer.text)")
            }
        }
    }
}
