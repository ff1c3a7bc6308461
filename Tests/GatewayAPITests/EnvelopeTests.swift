import GatewayAPI
import JSON
import Testing

struct EnvelopeTests {
    static let meta = ResponseMeta(requestID: "r-1", timestamp: Samples.noon)
    static let quota = ErrorBody(
        code: .quotaExhausted, message: "daily limit", userMessage: "Let's continue tomorrow.", action: .upgrade, retryAfter: 3600,
        details: ["limit": 20])

    @Test("a success has data, no error, and meta")
    func success() throws {
        let bytes = Envelope.success(meta: Self.meta) { writer in writer.object { $0.member("a", 1) } }
        #expect(
            Samples.text(bytes)
                == #"{"success":true,"data":{"a":1},"error":null,"meta":{"request_id":"r-1","timestamp":"2026-03-01T12:00:00.005Z","version":"1.0"}}"#
        )
        let received = try ReceivedEnvelope(json: bytes)
        #expect(received.result == .success(["a": 1]) && received.requestID == "r-1" && received.pagination == nil)
    }

    @Test("a list has pagination beside its data")
    func list() throws {
        let page = Pagination(nextCursor: "abc", nextUpdatedSince: nil)
        let bytes = Envelope.success(meta: Self.meta, pagination: page) { writer in writer.array { _ in } }
        #expect(Samples.text(bytes).contains(#""error":null,"pagination":{"next_cursor":"abc","has_next":true},"meta""#))
        #expect(try ReceivedEnvelope(json: bytes).pagination == page)
        let end = Pagination(nextCursor: nil, nextUpdatedSince: nil)
        let last = Envelope.success(meta: Self.meta, pagination: end) { writer in writer.array { _ in } }
        #expect(Samples.text(last).contains(#""pagination":{"next_cursor":null,"has_next":false}"#))
        let changes = Pagination(nextCursor: nil, nextUpdatedSince: "t", hasMore: true)
        let some = Envelope.success(meta: Self.meta, pagination: changes) { writer in writer.array { _ in } }
        #expect(
            Samples.text(some).contains(
                #""pagination":{"next_cursor":null,"has_next":false,"next_updated_since":"t","has_more":true,"reset":false}"#))
        #expect(try ReceivedEnvelope(json: some).pagination == changes)
    }

    @Test("a failure has the error, meta, and no data")
    func failure() throws {
        let bytes = Envelope.failure(Self.quota, meta: Self.meta)
        #expect(
            Samples.text(bytes)
                == #"{"success":false,"data":null,"error":{"code":"BIZ_2002","message":"daily limit","user_message":"Let's continue tomorrow.","action":"upgrade","retry_after":3600,"details":{"limit":20}},"meta":{"request_id":"r-1","timestamp":"2026-03-01T12:00:00.005Z","version":"1.0"}}"#
        )
        #expect(try ReceivedEnvelope(json: bytes).result == .failure(Self.quota))
    }

    @Test("problem details have the same code and fields as the envelope of the error")
    func problem() {
        let bytes = Envelope.problem(Self.quota, status: 429, title: "Too Many Requests", meta: Self.meta)
        #expect(
            Samples.text(bytes)
                == #"{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"daily limit","code":"BIZ_2002","message":"daily limit","user_message":"Let's continue tomorrow.","action":"upgrade","retry_after":3600,"details":{"limit":20},"request_id":"r-1","timestamp":"2026-03-01T12:00:00.005Z"}"#
        )
    }

    @Test(
        "a body that is not an envelope is an error, not a crash", arguments: ["", "null", "{}", #"{"success":1}"#, #"{"success":false}"#])
    func malformed(_ json: String) {
        #expect(throws: JSONFinding.self) { try ReceivedEnvelope(json: Samples.bytes(json)) }
    }

    @Test("a safety card inside the details of an error can be decoded")
    func safetyInDetails() throws {
        var rejection = Self.quota
        rejection.details = .object([JSONMember("safety", try JSONValue(parsing: JSONWriter.encode { Samples.safety.write(to: &$0) }))])
        let received = try ReceivedEnvelope(json: Envelope.failure(rejection, meta: Self.meta))
        guard case .failure(let error) = received.result, let card = error.details?["safety"] else {
            Issue.record("no card")
            return
        }
        #expect(try StreamSafety(JSONReader(card)) == Samples.safety)
    }

    @Test("the codes and actions are those of the contract")
    func codes() {
        #expect(
            Set(ErrorCode.allCases.map(\.rawValue)) == [
                "AUTH_1001", "AUTH_1002", "AUTH_1003", "BIZ_2001", "BIZ_2002", "BIZ_2003", "BIZ_2004", "BIZ_2006", "BIZ_2007", "BIZ_2008",
                "BIZ_2009", "BIZ_2010", "VAL_3001", "VAL_3003", "VAL_3004", "VAL_3005", "EXT_4001", "EXT_4003", "SYS_5000", "SYS_5001",
            ])
        #expect(
            Set(ErrorAction.allCases.map(\.rawValue)) == [
                "re_authenticate", "go_back", "upgrade", "retry", "consent", "wait", "reload", "fix_input",
            ])
    }
}
