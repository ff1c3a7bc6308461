import CoachCore
import Foundation
import GatewayAPI
import HTTPTypes
import Identity
import JSON
import Testing

@testable import HTTPEdge

@Suite("Client errors")
struct ErrorTests {
    /// CONTRACT §2, the table: code, status, action.
    private static let contract: [(ErrorCode, Int, String)] = [
        (.tokenExpired, 401, "re_authenticate"), (.unauthenticated, 401, "re_authenticate"), (.forbidden, 403, "go_back"),
        (.subscriptionRequired, 403, "upgrade"), (.jobFailed, 500, "retry"), (.quotaExhausted, 429, "upgrade"), (.notFound, 404, "go_back"),
        (.consentRequired, 403, "consent"), (.turnInProgress, 409, "wait"), (.preconditionFailed, 412, "reload"),
        (.idempotencyConflict, 422, "go_back"), (.rateLimited, 429, "wait"), (.invalidInput, 422, "fix_input"),
        (.personaOrDomainUnavailable, 422, "fix_input"), (.methodNotAllowed, 405, "fix_input"), (.tooLarge, 413, "fix_input"),
        (.providersUnavailable, 503, "retry"), (.databaseUnavailable, 503, "retry"), (.overloaded, 503, "retry"),
        (.unforeseen, 500, "retry"),
    ]

    @Test("every code has the contract's status and action, and a warm text")
    func table() {
        #expect(Set(Self.contract.map(\.0)) == Set(ErrorCode.allCases))
        for (code, status, action) in Self.contract {
            let row = ErrorMapping.row(code)
            #expect(row.status == status && row.action.rawValue == action, "\(code)")
            #expect(row.userMessage.count > 20, "\(code)")
        }
    }

    @Test(
        "the form of an error follows Accept",
        arguments: [
            (nil, ErrorFormat.envelope), ("*/*", .envelope), ("text/event-stream", .eventStream), ("application/problem+json", .problem),
            ("application/problem+json, text/event-stream;q=0", .problem),
            ("application/problem+json;q=0.5, application/json", .envelope),
            ("application/json, application/problem+json;q=0.9", .envelope),
            ("application/json;q=0.5, application/problem+json", .problem), ("application/json, application/problem+json", .problem),
            ("application/problem+json;q=0.5, */*", .problem), ("Application/JSON", .envelope),
        ] as [(String?, ErrorFormat)])
    func formats(accept: String?, format: ErrorFormat) {
        for path in ["/api/v1/me"] + Self.streaming { #expect(ErrorFormat(accept: accept, path: path) == format, "\(path)") }
        #expect(ErrorFormat(accept: accept, path: "/v1/models") == .openAI)
        #expect(ErrorFormat(accept: accept, path: "//v1//models") == .openAI)
    }

    private static let streaming = [
        "/functions/v1/chat-stream", "//functions//v1//chat-stream/?after=1", "/functions/v1/chat-stream/x/stop",
        "/api/v1/personas/x/preview", "/api/v1/operator/events",
    ]

    @Test(
        "an error is an event where events are accepted beside other formats, on routes that may stream only",
        arguments: [
            ("text/event-stream, application/problem+json", ErrorFormat.problem),
            ("application/problem+json, text/event-stream;q=0.5", .problem), ("application/json, text/event-stream;q=0.1", .envelope),
            ("application/json, text/event-stream", .envelope), ("text/event-stream, */*;q=0.1", .envelope),
            ("text/event-stream, application/*", .envelope), ("text/event-stream, text/html", .eventStream),
        ])
    func eventsBesideOthers(accept: String, elsewhere: ErrorFormat) {
        for path in Self.streaming { #expect(ErrorFormat(accept: accept, path: path) == .eventStream, "\(path)") }
        for path in ["/api/v1/me", "/functions/v1/chat-streams", "/api/v1/personas/x/publish", "/api/v1/conversations/preview"] {
            #expect(ErrorFormat(accept: accept, path: path) == elsewhere, "\(path)")
        }
    }

    @Test("an error for text/event-stream is one error event, with the error's status")
    func eventStreamForm() async throws {
        let response = GatewayError(.quotaExhausted, "limit", retryAfter: 60).response(format: .eventStream, requestID: "r")
        #expect(response.status.code == 429)
        #expect(response.headers[.contentType] == "text/event-stream; charset=utf-8")
        #expect(response.headers[.retryAfter] == "60")
    }

    @Test("no cache keeps an error", arguments: [ErrorFormat.envelope, .problem, .openAI, .eventStream])
    func uncached(format: ErrorFormat) {
        let fields = GatewayError.notFound.rendered(format: format, requestID: "r").fields
        #expect(fields[.cacheControl] == (format == .eventStream ? "no-cache, no-transform" : "no-store"))
    }

    @Test("a problem has its status phrase as title, and a 401 has WWW-Authenticate")
    func titles() throws {
        for code in ErrorCode.allCases {
            let (status, fields, body) = GatewayError(code, "x").rendered(format: .problem, requestID: "r")
            let problem = try JSONValue(parsing: body)
            #expect(problem["title"]?.string == status.reasonPhrase && !status.reasonPhrase.isEmpty, "\(code)")
            #expect(problem["status"]?.integer == Int64(status.code) && problem["code"]?.string == code.rawValue)
            #expect(fields[.wwwAuthenticate] == (status.code == 401 ? "Bearer" : nil))
        }
        let missing = GatewayError(.preconditionFailed, "x", status: 428).rendered(format: .problem, requestID: "r")
        #expect(try JSONValue(parsing: missing.body)["title"]?.string == "Precondition Required")
    }

    @Test("a 503 always has Retry-After")
    func retryAfter() {
        #expect(GatewayError(.overloaded, "x").response(format: .envelope, requestID: "r").headers[.retryAfter] == "1")
        #expect(GatewayError(.notFound, "x").response(format: .envelope, requestID: "r").headers[.retryAfter] == nil)
    }

    @Test("for clients of OpenAI's protocol the limit of turns at once is a rate limit, which they wait for; a quota is not")
    func turnsAtOnce() throws {
        func rejected(_ reason: Rejection.Reason) throws -> (fields: HTTPFields, error: JSONValue?) {
            let (_, fields, body) = GatewayError(Rejection(reason: reason, retryAfter: 2)).rendered(format: .openAI, requestID: "r")
            return (fields, try JSONValue(parsing: body)["error"])
        }
        let (fields, turns) = try rejected(.tooManyTurns)
        #expect(turns?["type"]?.string == "rate_limit_error" && turns?["code"]?.string == "rate_limit_exceeded")
        #expect(fields[.shouldRetry] == nil && fields[.retryAfter] == "2")
        let quota = try rejected(.quotaExhausted)
        #expect(quota.error?["code"]?.string == "insufficient_quota" && quota.fields[.shouldRetry] == "false")
    }

    @Test("a body that is not JSON is 400, an invalid field is 422 with its name")
    func bodies() {
        func rejection(_ text: String) -> GatewayError? {
            do throws(JSONFindings) {
                _ = try ChatRequest.parse(Array(text.utf8))
                return nil
            } catch { return GatewayError(error) }
        }
        #expect(rejection("{")?.status == 400)
        #expect(rejection("[]")?.status == 422)
        let field = rejection(#"{"message":3}"#)
        #expect(field?.status == 422 && field?.details.first?.0 == "field" && field?.details.first?.1 == .string("message"))
    }

    @Test("an error of a port names the field or the parameter that it rejects")
    func fields() {
        let rejected: [(any Error, String)] = [
            (InvalidChangeToken(), "updated_since"), (InvalidChangeToken(.since), "since"), (InvalidCursor(), "cursor"),
            (ProfileTooLong(.goals), "goals"), (InvalidFigureQuery(), "tz"), (UnknownVersion(field: "from"), "from"),
        ]
        for (error, field) in rejected {
            let answer = GatewayError(known: error)
            #expect(answer?.httpStatus == 422 && answer?.details.first?.1 == .string(field), "\(field)")
        }
        #expect(GatewayError(known: InvalidChangeToken(.since))?.message == "since must be the next of an earlier answer")
        let ofList = GatewayError(known: InvalidChangeToken())
        #expect(ofList?.message == "updated_since must be a time, or the next_updated_since of an earlier answer")
    }

    @Test("each rejection by the database has its code")
    func rejections() {
        #expect(GatewayError(Rejection(reason: .notFound)).code == .notFound)
        #expect(GatewayError(Rejection(reason: .turnInProgress)).code == .turnInProgress)
        #expect(GatewayError(Rejection(reason: .quotaExhausted, retryAfter: 5, limit: 20)).details.first?.1 == .integer(20))
        #expect(GatewayError(StoreFault.unavailable(retryAfter: 0)).retryAfter == 1)
        let budgets = [SharedBudget.Scope?.none, .tier, .persona, .installation].map {
            GatewayError(Rejection(reason: .budgetExhausted, sharedBudget: $0))
        }
        #expect(budgets.map(\.action) == [nil, nil, .wait, .wait] && budgets.allSatisfy { $0.code == .quotaExhausted })
        #expect(GatewayError(TokenRejection.expired).code == .tokenExpired)
        #expect(GatewayError(TokenRejection.forbidden).code == .forbidden)
        let notLoaded = GatewayError(TokenRejection.keysNotLoaded)
        #expect(notLoaded.code == .overloaded && notLoaded.httpStatus == 503 && notLoaded.retryAfter == 5)
        for rejection in Set(TokenRejection.allCases).subtracting([.expired, .forbidden, .keysNotLoaded]) {
            #expect(GatewayError(rejection).code == .unauthenticated)
        }
    }
}

@Suite("Reading of request headers")
struct EdgeTests {
    @Test("a valid incoming request id is kept, X-Request-ID before X-Correlation-ID; anything else is replaced")
    func requestIDs() {
        #expect(RequestIdentifier.choose([.requestID: "abc"]) == "abc")
        #expect(RequestIdentifier.choose([.correlationID: "corr", .requestID: ""]) == "corr")
        #expect(RequestIdentifier.choose([.requestID: "a", .correlationID: "b"]) == "a")
        let long = String(repeating: "x", count: 129)
        #expect(UUID(uuidString: RequestIdentifier.choose([.requestID: long])) != nil)
        #expect(RequestIdentifier.choose([:]) != RequestIdentifier.choose([:]))
    }

    @Test(
        "the preferred language of Accept-Language is used",
        arguments: [
            ("es-MX,es;q=0.9,en;q=0.8", "es-MX"), ("de;q=0.5", "de"), ("*", nil), ("", nil), (" fr ", "fr"), ("e\u{301}", nil),
            ("en-US;q=0.1, es-ES", "es-ES"),
            ("fr;q=0, de;q=0.2", "de"),
        ] as [(String, String?)])
    func languages(header: String, tag: String?) {
        #expect(AcceptLanguage.first(header) == tag)
    }
}
