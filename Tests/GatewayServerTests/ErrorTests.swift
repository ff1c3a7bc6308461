import CoachCore
import EventStream
import Foundation
import GatewayAPI
import HTTPTypes
import Identity
import JSON
import Testing

@testable import GatewayServer
@testable import TokenRelay

@Suite("Errors become answers in one place")
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
            (nil, AnswerForm.envelope), ("*/*", .envelope), ("text/event-stream", .eventStream), ("application/problem+json", .problem),
            ("text/event-stream, application/problem+json", .eventStream), ("application/problem+json;q=1, text/event-stream", .problem),
            ("Application/JSON", .envelope),
        ] as [(String?, AnswerForm)])
    func forms(accept: String?, form: AnswerForm) {
        #expect(AnswerForm(accept: accept) == form)
    }

    @Test("a refusal for a stream reader is one error event that ends the stream, with the status too")
    func eventStreamForm() async throws {
        let response = GatewayError(.quotaExhausted, "limit", retryAfter: 60).response(form: .eventStream, requestID: "r")
        #expect(response.status.code == 429)
        #expect(response.headers[.contentType] == "text/event-stream; charset=utf-8")
        #expect(response.headers[.retryAfter] == "60")
    }

    @Test("a problem has its status' phrase as title, and a 401 says how to authenticate")
    func titles() throws {
        for code in ErrorCode.allCases {
            let (status, fields, body) = GatewayError(code, "x").rendered(form: .problem, requestID: "r")
            let problem = try JSONValue(parsing: body)
            #expect(problem["title"]?.string == status.reasonPhrase && !status.reasonPhrase.isEmpty, "\(code)")
            #expect(problem["status"]?.integer == Int64(status.code) && problem["code"]?.string == code.rawValue)
            #expect(fields[.wwwAuthenticate] == (status.code == 401 ? "Bearer" : nil))
        }
        let missing = GatewayError(.preconditionFailed, "x", status: 428).rendered(form: .problem, requestID: "r")
        #expect(try JSONValue(parsing: missing.body)["title"]?.string == "Precondition Required")
    }

    @Test("503 always says when to come back")
    func retryAfter() {
        #expect(GatewayError(.overloaded, "x").response(form: .envelope, requestID: "r").headers[.retryAfter] == "1")
        #expect(GatewayError(.notFound, "x").response(form: .envelope, requestID: "r").headers[.retryAfter] == nil)
    }

    @Test("a body that is no JSON is 400, a wrong field is 422 and named")
    func bodies() {
        func rejection(_ text: String) -> GatewayError? {
            do throws(JSONFinding) {
                _ = try ChatRequest.parse(Array(text.utf8))
                return nil
            } catch { return GatewayError(error) }
        }
        #expect(rejection("{")?.status == 400)
        #expect(rejection("[]")?.status == 422)
        let field = rejection(#"{"message":3}"#)
        #expect(field?.status == 422 && field?.details.first?.0 == "field" && field?.details.first?.1 == .string("message"))
    }

    @Test("what the database refuses has its code")
    func refusals() {
        #expect(GatewayError(Rejection(reason: .notFound)).code == .notFound)
        #expect(GatewayError(Rejection(reason: .turnInProgress)).code == .turnInProgress)
        #expect(GatewayError(Rejection(reason: .quotaExhausted, retryAfter: 5, limit: 20)).details.first?.1 == .integer(20))
        #expect(GatewayError(StoreFault.unavailable(retryAfter: 0)).retryAfter == 1)
        #expect(GatewayError(TokenRejection.expired).code == .tokenExpired)
        #expect(GatewayError(TokenRejection.forbidden).code == .forbidden)
        for rejection in TokenRejection.allCases where rejection != .expired && rejection != .forbidden {
            #expect(GatewayError(rejection).code == .unauthenticated)
        }
    }
}

@Suite("The edge's small readings")
struct EdgeTests {
    @Test("a valid incoming id is kept, the first of the two headers wins, anything else is replaced")
    func requestIDs() {
        #expect(RequestIdentifier.choose([.requestID: "abc"]) == "abc")
        #expect(RequestIdentifier.choose([.correlationID: "corr", .requestID: ""]) == "corr")
        #expect(RequestIdentifier.choose([.requestID: "a", .correlationID: "b"]) == "a")
        let long = String(repeating: "x", count: 129)
        #expect(UUID(uuidString: RequestIdentifier.choose([.requestID: long])) != nil)
        #expect(RequestIdentifier.choose([:]) != RequestIdentifier.choose([:]))
    }

    @Test(
        "the most wanted language of Accept-Language counts",
        arguments: [
            ("es-MX,es;q=0.9,en;q=0.8", "es-MX"), ("de;q=0.5", "de"), ("*", nil), ("", nil), (" fr ", "fr"), ("e\u{301}", nil),
            ("en-US;q=0.1, es-ES", "es-ES"),
            ("fr;q=0, de;q=0.2", "de"),
        ] as [(String, String?)])
    func languages(header: String, tag: String?) {
        #expect(AcceptLanguage.first(header) == tag)
    }
}

@Suite("Where somebody is")
struct WhereaboutsTests {
    private func place(country: String? = nil, locale: String? = nil, profile: Region? = nil, header: String? = nil) -> Region {
        Region(TurnRequest(message: "m", locale: locale, country: country), profile: profile, acceptLanguage: header)
    }

    @Test("country and language come each from the first source that tells them")
    func sources() {
        let british = Region(country: "GB", locale: nil)
        #expect(place(locale: "en", profile: british, header: "es-ES") == Region(country: "GB", locale: "en"))
        #expect(place(locale: "en", header: "en-GB") == Region(country: "GB", locale: "en"))
        #expect(place(locale: "en-AU", profile: british) == Region(country: "AU", locale: "en-AU"))
        #expect(place(country: "gb", locale: "en-US", header: "en-AU") == Region(country: "GB", locale: "en-US"))
        #expect(place(country: "nowhere", profile: british) == british)
        #expect(place(header: "es-MX,es;q=0.9") == Region(country: "MX", locale: "es-MX"))
        #expect(place() == Region(country: nil, locale: nil))
    }
}

@Suite("The first and last events of a stream")
struct FramingTests {
    private let facts = TurnFacts(
        userID: .random(),
        identity: TurnIdentity(turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
        day: CalendarDay(unixSeconds: 0),
        domain: DomainDecision(domain: nil, confidence: 0.25, source: .abstained), personaID: nil,
        model: ModelName(provider: "p", model: "m"), risk: .calm, country: nil, locale: nil)

    private func events(_ bytes: [UInt8]) -> [StreamEvent] {
        var found: [StreamEvent] = []
        var parser = EventStreamParser()
        try? parser.feed(bytes) { event in
            if let decoded = try? StreamEvent(json: event.data) { found.append(decoded) }
        }
        return found
    }

    private func terminalEvents(_ ending: TurnEnding, kept: Int) -> [StreamEvent] {
        var bytes: [UInt8] = []
        TerminalEvents(facts: facts, ending: ending, keptBytes: kept, cursor: kept).encode(into: &bytes)
        return events(bytes)
    }

    private func failure(_ ending: TurnEnding, attempt: Int, kept: Int, cursor: Int) -> StreamFailure? {
        var facts = facts
        facts.identity.attempt = attempt
        var bytes: [UInt8] = []
        TerminalEvents(facts: facts, ending: ending, keptBytes: kept, cursor: cursor).encode(into: &bytes)
        guard case .error(let failure)? = events(bytes).last else { return nil }
        return failure
    }

    @Test("a client that has read more than is kept is told how much to keep, however the turn ended")
    func beyond() {
        let complete = TurnEnding(status: .complete, finishReason: .stop, bill: bill)
        let stopped = TurnEnding(status: .stopped, finishReason: .stopped, bill: nil)
        let interrupted = TurnEnding(status: .interrupted, finishReason: nil, bill: bill)
        // Of one attempt, nothing that was said is lost but by a crash: then it keeps what is kept.
        #expect(failure(complete, attempt: 1, kept: 9, cursor: 9) == nil)
        #expect(failure(complete, attempt: 1, kept: 9, cursor: 10)?.code == .invalidInput)
        #expect(failure(interrupted, attempt: 1, kept: 9, cursor: 20)?.keptBytes == 9)
        // What it has may be an earlier attempt's, whose text nobody has: it keeps nothing of it.
        for ending in [complete, stopped, interrupted] {
            let lost = failure(ending, attempt: 2, kept: 9, cursor: 10)
            #expect(lost?.partial == true && lost?.keptBytes == 0 && lost?.retryable == true)
        }
        #expect(failure(stopped, attempt: 2, kept: 0, cursor: 1)?.keptBytes == 0)
        #expect(failure(.withoutText, attempt: 1, kept: 0, cursor: 20)?.keptBytes == 0)
        #expect(failure(complete, attempt: 2, kept: 9, cursor: 9) == nil)
        #expect(failure(interrupted, attempt: 2, kept: 9, cursor: 9)?.keptBytes == 9)
    }

    @Test("an answer that can be saved nowhere is told as such, and that asking again helps")
    func unsaved() {
        let told = failure(.unsaved, attempt: 1, kept: 9, cursor: 9)
        #expect(told?.code == .databaseUnavailable && told?.retryable == true && told?.retryAfter == 1)
    }

    private let bill = TurnBill(
        provider: "p", model: "m", usage: TokenUsage(input: 7, cachedInput: 3, output: 5, reasoning: 2), cost: Nanodollars(1234),
        estimated: false)

    @Test("a complete turn ends with usage and done")
    func complete() {
        let told = terminalEvents(TurnEnding(status: .complete, finishReason: .stop, bill: bill), kept: 9)
        guard case .usage(let usage)? = told.first, case .done(let done)? = told.last else {
            Issue.record("\(told)")
            return
        }
        #expect(usage.inputTokens == 10 && usage.cachedInputTokens == 3 && usage.outputTokens == 7 && usage.costUSD == "0.000001234")
        #expect(done.finishReason == .stop && done.messageID == facts.identity.messageID.uuid)
    }

    @Test("an interrupted turn ends with usage and an error that says what is kept")
    func interrupted() {
        guard case .error(let failure)? = terminalEvents(TurnEnding(status: .interrupted, finishReason: nil, bill: bill), kept: 9).last
        else {
            Issue.record("no error")
            return
        }
        #expect(failure.partial && failure.keptBytes == 9 && failure.retryable && failure.code == .providersUnavailable)
        #expect(failure.userMessage == "Coach is taking a moment. Let's try again.")
    }

    @Test("a failed turn that cost nothing ends with the error alone")
    func failed() {
        let told = terminalEvents(TurnEnding(status: .failed, finishReason: nil, bill: nil), kept: 0)
        guard told.count == 1, case .error(let failure)? = told.first else {
            Issue.record("\(told)")
            return
        }
        #expect(!failure.partial && failure.keptBytes == 0)
    }

    @Test("the greeting is start, and safety when there is a card")
    func openingEvents() {
        var bytes: [UInt8] = []
        OpeningEvents(requestID: "r", safety: StreamSafety(severity: .acute, tier: 3, categories: ["suicide"], resources: [], message: "m"))
            .encode(facts, into: &bytes)
        let told = events(bytes)
        guard told.count == 2, case .start(let start) = told[0], case .safety(let safety) = told[1] else {
            Issue.record("\(told)")
            return
        }
        #expect(start.domain == nil && start.domainConfidence == 0.25 && start.requestID == "r" && start.model == "m")
        #expect(safety.tier == 3)
    }
}
