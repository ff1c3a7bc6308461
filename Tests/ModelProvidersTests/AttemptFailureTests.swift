import CoachCore
import JSON
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("AttemptFailure")
struct AttemptFailureTests {
    func failure(
        _ status: Int, _ headers: [String: String] = [:], code: String? = nil, kind: ProviderError.Kind = .other
    ) -> AttemptFailure {
        let head = TransferHead(status: status, headers: headers.map { TransferHeader($0, $1) })
        return AttemptFailure(head, ProviderError(code: code, kind: kind), at: "p")
    }

    @Test("overload and server errors may be retried", arguments: [408, 409, 429, 500, 502, 503, 504, 529])
    func retried(_ status: Int) {
        #expect(failure(status).mayRetry)
        #expect(failure(status).blamesProvider)
    }

    @Test(
        "what was not sent may be sent again; what may have been accepted may not",
        arguments: [
            (.resolve, true), (.connect, true), (.connectTimeout, true), (.tls, false), (.unanswered, false), (.cut, false),
            (.request, false),
            (.other, false),
        ] as [(TransferFailure.Kind, Bool)])
    func transfers(_ kind: TransferFailure.Kind, _ mayRetry: Bool) {
        let failure = AttemptFailure(TransferFailure(kind: kind), at: "p")
        #expect(failure.mayRetry == mayRetry && failure.blamesProvider == (kind != .request))
    }

    @Test("errors of the request may not", arguments: [400, 413, 422])
    func notRetried(_ status: Int) {
        #expect(!failure(status).mayRetry)
        #expect(!failure(status).blamesProvider)
    }

    @Test("a model that the provider does not know, or not any more, needs an operator; the key stays in use", arguments: [404, 410])
    func missingModel(_ status: Int) {
        for missing in [failure(status), failure(400, code: "model_decommissioned", kind: .model)] {
            #expect(missing.blamesProvider && missing.needsOperator && !missing.blamesRequest && !missing.mayRetry)
            #expect(missing.keyCooldown == nil && !missing.refusesKey && missing.pause == nil && missing.cooldown == nil)
        }
        let wanted = failure(status, ["x-should-retry": "true"])
        #expect(wanted.mayRetry && !wanted.needsOperator && !wanted.blamesProvider)
    }

    @Test("a redirect or an empty success is the provider's, and not tried again", arguments: [204, 301, 302, 308])
    func noServer(_ status: Int) {
        let failure = failure(status)
        #expect(!failure.mayRetry && failure.blamesProvider && !failure.blamesRequest)
    }

    @Test("a wrong key says something about the provider, but asking again does not help", arguments: [401, 403])
    func keys(_ status: Int) {
        #expect(!failure(status).mayRetry)
        #expect(failure(status).blamesProvider)
    }

    @Test("x-should-retry overrides the status")
    func override() {
        #expect(!failure(503, ["x-should-retry": "false"]).mayRetry)
        #expect(failure(400, ["x-should-retry": "true"]).mayRetry)
        #expect(failure(503, ["x-should-retry": "maybe"]).mayRetry)
    }

    @Test("a lack of money is never retried, whatever the headers say")
    func money() {
        #expect(!failure(429, ["x-should-retry": "true"], code: "insufficient_quota", kind: .money).mayRetry)
        #expect(!failure(402, ["x-should-retry": "true"]).mayRetry)
        #expect(failure(429, code: "rate_limit_exceeded").mayRetry)
        #expect(failure(503, code: "server_is_overloaded").mayRetry)
    }

    @Test("a bad request is counted apart; a missing model is not")
    func badRequest() {
        for status in [400, 413, 422] { #expect(failure(status).blamesRequest) }
        for status in [401, 403, 404, 408, 409, 429, 500, 529] { #expect(!failure(status).blamesRequest) }
        #expect(!failure(400, ["x-should-retry": "true"]).blamesRequest)
        #expect(!failure(400, kind: .money).blamesRequest && !failure(400, kind: .key).blamesRequest)
    }

    @Test("a prompt that moderation rejected says nothing about the key, and is counted as a bad request whatever the status")
    func moderation() {
        let moderated = failure(403, kind: .moderation)
        #expect(moderated.blamesRequest && failure(400, kind: .moderation).blamesRequest)
        #expect(!moderated.endsCall && !moderated.mayRetry, "another provider may answer")
        #expect(!moderated.needsOperator && !moderated.blamesProvider && moderated.keyCooldown == nil)
    }

    @Test("a model is paused as long as the provider asks for; what only an operator can mend is no pause")
    func modelPauses() {
        #expect(failure(503, ["retry-after": "30"]).pause == .seconds(30) && failure(503).pause == nil)
        #expect(failure(503, ["retry-after": "999999"]).pause == .seconds(60))
        #expect(failure(429, ["retry-after": "90"]).pause == .seconds(90) && failure(429).pause == .seconds(5))
        #expect(failure(402, ["retry-after": "90"]).pause == nil && failure(500).pause == nil)
    }

    @Test("the provider's own time with 429, 503 and 529 is the model's cooldown, within bounds; no other status and no key's failure is")
    func cooldowns() {
        for status in [429, 503, 529] {
            #expect(failure(status, ["retry-after": "30"]).cooldown == .seconds(30) && failure(status).cooldown == nil)
            #expect(failure(status, ["retry-after": "0"]).cooldown == .zero && failure(status, ["retry-after": "soon"]).cooldown == nil)
        }
        #expect(failure(429, ["retry-after": "999999"]).cooldown == .seconds(300))
        for status in [503, 529] { #expect(failure(status, ["retry-after": "999999"]).cooldown == .seconds(60)) }
        for status in [402, 408, 409, 500] { #expect(failure(status, ["retry-after": "30"]).cooldown == nil) }
        #expect(failure(429, ["retry-after": "30"], kind: .money).cooldown == nil)
    }

    @Test("a key that was refused has a cooldown, and money and keys need an operator")
    func keyCooldowns() {
        #expect(failure(401).keyCooldown == .seconds(10) && failure(401).needsOperator && failure(401).refusesKey)
        #expect(failure(403).keyCooldown == .seconds(10) && failure(403).needsOperator && !failure(403).refusesKey)
        // Anthropic's permission_error and Gemini's PERMISSION_DENIED may concern the model alone; Bedrock says of a wrong key that it is one.
        for status in [400, 403] { #expect(failure(status, kind: .key).refusesKey && !failure(status, kind: .access).refusesKey) }
        #expect(failure(400, kind: .access).keyCooldown == .seconds(10) && failure(400, kind: .access).needsOperator)
        #expect(failure(402).refusesKey && !failure(429).refusesKey && failure(429, ["retry-after": "0"]).keyCooldown == .seconds(1))
        #expect(failure(429, ["retry-after": "90"]).keyCooldown == .seconds(90) && !failure(429).needsOperator)
        #expect(failure(429, ["retry-after": "999999"]).keyCooldown == .seconds(3600))
        #expect(failure(400, kind: .key).keyCooldown != nil && failure(402).needsOperator)
        #expect(failure(500).keyCooldown == nil && failure(424, kind: .temporary).mayRetry)
    }

    @Test("a pause is told in whole seconds, as far as it is believed; what an operator must mend has none")
    func toldPauses() {
        #expect(failure(429, ["retry-after": "1.2"]).fault.retryAfter == 2 && failure(429).fault.retryAfter == nil)
        #expect(failure(429, ["retry-after": "999999"]).fault.retryAfter == 300)
        for status in [500, 503] { #expect(failure(status, ["retry-after": "999999"]).fault.retryAfter == 60) }
        #expect(failure(401, ["retry-after": "9"]).fault.retryAfter == nil)
        let gemini = ProviderError(kind: .rateLimit, retryAfter: .seconds(17))
        let named = AttemptFailure(TransferHead(status: 429), gemini, at: "p")
        #expect(named.retryAfter == .seconds(17) && named.cooldown == .seconds(17) && named.fault.retryAfter == 17)
    }

    @Test("retry-after-ms wins over retry-after; a date is too far away")
    func pauses() {
        #expect(failure(429, ["retry-after": "2"]).retryAfter == .seconds(2))
        #expect(failure(429, ["retry-after": "0.5"]).retryAfter == .milliseconds(500))
        #expect(failure(429, ["retry-after": "2", "retry-after-ms": "250"]).retryAfter == .milliseconds(250))
        #expect(failure(429, ["retry-after": "-1"]).retryAfter == nil)
        #expect(failure(429, ["retry-after": "nan"]).retryAfter == nil)
        #expect(failure(429, ["retry-after": "1e300"]).retryAfter == nil)
        #expect(!failure(429, ["retry-after": "soon"]).mayRetry)
    }

    @Test(
        "a date is a pause, in each form of HTTP's dates",
        arguments: ["Fri, 20 Nov 2026 18:31:45 GMT", "Friday, 20-Nov-26 18:31:45 GMT", "Fri Nov 20 18:31:45 2026"])
    func dates(_ date: String) throws {
        let end = try #require(Timestamp(rfc3339: "2026-11-20T18:31:45Z"))
        let now = Timestamp(millisecondsSince1970: end.millisecondsSince1970 - 1500)
        func pause(_ headers: [String: String]) -> Duration? {
            let head = TransferHead(status: 429, headers: headers.map { TransferHeader($0, $1) })
            return AttemptFailure(head, ProviderError(), at: "p", now: now).retryAfter
        }
        #expect(pause(["retry-after": date]) == .milliseconds(1500))
        #expect(pause(["retry-after": date, "date": "Fri, 20 Nov 2026 18:31:00 GMT"]) == .seconds(45))
        #expect(pause(["retry-after": date, "date": "Fri, 20 Nov 2026 19:00:00 GMT"]) == .zero)
    }

    @Test("an error frame about money or the key has the effect of the status, with text and without", arguments: [false, true])
    func frames(_ hasText: Bool) {
        func failure(_ kind: ProviderError.Kind) -> AttemptFailure {
            AttemptFailure(ModelFault(kind: .errorFrame, detail: "p: x"), about: kind, hasText: hasText)
        }
        for kind in [ProviderError.Kind.badRequest, .moderation] {
            #expect(failure(kind).blamesRequest && !failure(kind).endsCall && !failure(kind).blamesProvider && !failure(kind).needsOperator)
        }
        for kind in [ProviderError.Kind.money, .key, .access] {
            #expect(failure(kind).needsOperator && failure(kind).blamesProvider && failure(kind).keyCooldown == .seconds(10))
            #expect(failure(kind).refusesKey == (kind != .access))
        }
        #expect(failure(.model).needsOperator && failure(.model).blamesProvider && failure(.model).keyCooldown == nil)
        #expect(failure(.rateLimit).keyCooldown == .seconds(5) && !failure(.rateLimit).needsOperator)
        #expect(failure(.other).keyCooldown == nil && failure(.other).blamesProvider == !hasText)
    }

    @Test("the detail names provider, status and code")
    func detail() {
        #expect(failure(429, code: "rate_limit_exceeded").fault == ModelFault(kind: .refused, detail: "p: HTTP 429 rate_limit_exceeded"))
        #expect(failure(500).fault.detail == "p: HTTP 500")
        let broken = AttemptFailure(TransferFailure(kind: .connect, code: 7), at: "p")
        #expect(broken.fault == ModelFault(kind: .refused, detail: "p: connect (7)"))
        #expect(broken.mayRetry)
        #expect(!AttemptFailure(TransferFailure(kind: .tls, code: 60), at: "p").mayRetry)
    }
}
