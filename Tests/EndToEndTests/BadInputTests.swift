import Foundation
import Testing

@Suite("Bad input", .paced)
struct BadInputTests {
    /// A body that is rejected.
    struct Rejected: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var body: [UInt8]
        var status = 422
        var code = "VAL_3001"
        var field: String?

        init(_ description: String, _ body: String, status: Int = 422, code: String = "VAL_3001", field: String? = nil) {
            self.init(description, bytes: Array(body.utf8), status: status, code: code, field: field)
        }

        init(_ description: String, bytes: [UInt8], status: Int = 422, code: String = "VAL_3001", field: String? = nil) {
            testDescription = description
            body = bytes
            self.status = status
            self.code = code
            self.field = field
        }

        static let all = [
            Rejected("nothing", "", status: 400),
            Rejected("no JSON", "message=hello", status: 400),
            Rejected("half of an object", #"{"message":"hel"#, status: 400),
            Rejected("an object and more", #"{"message":"hello"} {}"#, status: 400),
            Rejected("invalid UTF-8", bytes: Array(#"{"message":"caf"#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8), status: 400),
            Rejected("a cut character", bytes: Array(#"{"message":"hello"}"#.utf8) + [0xF0, 0x9F], status: 400),
            Rejected("nesting without end", String(repeating: "[", count: 100_000), status: 400),
            Rejected("an array", #"["message"]"#, field: "body"),
            Rejected("a string", #""hello""#, field: "body"),
            Rejected("no message", "{}", field: "message"),
            Rejected("message null", #"{"message":null}"#, field: "message"),
            Rejected("message a number", #"{"message":5}"#, field: "message"),
            Rejected("message a list", #"{"message":["hello"]}"#, field: "message"),
            Rejected("message empty", #"{"message":""}"#, field: "message"),
            Rejected("message of spaces", #"{"message":" \n\t\u00a0 "}"#, field: "message"),
            Rejected("8,001 characters", #"{"message":"\#(String(repeating: "a", count: 8001))"}"#, field: "message"),
            Rejected("8,001 emoji", #"{"message":"\#(String(repeating: "💛", count: 8001))"}"#, field: "message"),
            Rejected("U+0000", #"{"message":"a\u0000b"}"#, field: "message"),
            Rejected("a lone surrogate", #"{"message":"a\ud83db"}"#, field: "message"),
            Rejected("conversation_id a number", #"{"message":"hi","conversation_id":7}"#, field: "conversation_id"),
            Rejected("conversation_id no UUID", #"{"message":"hi","conversation_id":"7"}"#, field: "conversation_id"),
            Rejected("conversationId no UUID", #"{"message":"hi","conversationId":"7"}"#, field: "conversation_id"),
            Rejected("persona_id no UUID", #"{"message":"hi","persona_id":"maya"}"#, field: "persona_id"),
            Rejected("domain a number", #"{"message":"hi","domain":1}"#, field: "domain"),
            Rejected("client_message_id empty", #"{"message":"hi","client_message_id":""}"#, field: "client_message_id"),
            Rejected("client_message_id not ASCII", #"{"message":"hi","client_message_id":"é"}"#, field: "client_message_id"),
            Rejected("locale an object", #"{"message":"hi","locale":{}}"#, field: "locale"),
            Rejected("an unknown domain", #"{"message":"hi","domain":"astrology"}"#, code: "VAL_3003", field: "domain"),
            Rejected("an unknown persona", #"{"message":"hi","persona_id":"\#(UUID())"}"#, code: "VAL_3003", field: "persona_id"),
        ]
    }

    @Test("is rejected with a code, and with the field if there is one", arguments: Rejected.all)
    func rejected(input: Rejected) async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let answer = try await testUser.browser.send("POST", Browser.chatPath, body: input.body)
        #expect(answer.status == input.status && answer.errorCode == input.code, "\(answer.text)")
        #expect(answer.error.object("details")["field"] == input.field)
        #expect(answer.error["action"] == "fix_input" && answer.json.object("meta")["request_id"] == answer.headers["x-request-id"])
        let messages = try await testBed.database.rows("select id from messages where user_id = '\(testUser.id)'")
        #expect(messages.isEmpty)
    }

    @Test("a byte order mark before the JSON is ignored")
    func byteOrderMark() async throws {
        let body = [0xEF, 0xBB, 0xBF] + Array(#"{"message":"Hello \#(sim(["words": 2]).replacing("\"", with: "\\\""))"}"#.utf8)
        let answer = try await TestBed.shared().testUser().browser.send("POST", Browser.chatPath, body: body)
        #expect(answer.status == 200 && answer.first("done") != nil, "\(answer.text)")
    }

    @Test("8,000 scalars of four bytes are a message")
    func longest() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let script = sim(["words": 2])
        let message = script + String(repeating: "💛", count: 8000 - script.unicodeScalars.count)
        let answer = try await testUser.chat(message)
        #expect(answer.status == 200 && answer.first("done") != nil)
        #expect(try await testBed.database.messages(of: testUser.id, role: "user").first?["content"] == message)
    }

    @Test("another user's conversation gets the same 404 as one that does not exist")
    func foreignConversation() async throws {
        let testBed = try await TestBed.shared()
        let (owner, stranger) = (testBed.testUser(), testBed.testUser())
        let conversation = try #require(try await owner.chat("Mine \(sim(["words": 2]))").first("start")?["conversation_id"])
        let foreign = try await stranger.chat("Hello", ["conversation_id": conversation])
        let missing = try await stranger.chat("Hello", ["conversation_id": UUID().uuidString.lowercased()])
        for answer in [foreign, missing] {
            #expect(answer.status == 404 && answer.errorCode == "BIZ_2004")
            #expect(answer.error["message"] == missing.error["message"] && answer.error["user_message"] == missing.error["user_message"])
            #expect(answer.error.names == missing.error.names)
        }
        let messages = try await testBed.database.rows("select content from messages where conversation_id = '\(conversation)'")
        #expect(messages.count == 2)
    }

    @Test("an unpublished persona gets the same error as one that does not exist")
    func draftPersona() async throws {
        let testBed = try await TestBed.shared()
        let testUser = testBed.testUser()
        let draft = UUID().uuidString.lowercased()
        try await testBed.database.fresh.psql(
            "insert into coaching_personas (id, user_id, name) values ('\(draft)', '00000000-0000-4000-8000-000000000001', 'Draft')")
        let answer = try await testUser.chat("Hello", ["persona_id": draft])
        #expect(answer.status == 422 && answer.errorCode == "VAL_3003" && answer.error["action"] == "fix_input")
    }

    @Test("an idempotency key in the header must be well formed, and the one in the body")
    func keys() async throws {
        let testUser = try await TestBed.shared().testUser()
        let different = try await testUser.chat("Hello", ["client_message_id": "one"], headers: ["Idempotency-Key": "two"])
        #expect(different.status == 422 && different.errorCode == "VAL_3001")
        let long = try await testUser.chat("Hello", headers: ["Idempotency-Key": String(repeating: "k", count: 129)])
        #expect(long.status == 422 && long.errorCode == "VAL_3001")
        let same = try await testUser.chat(
            "Hello \(sim(["words": 2]))", ["client_message_id": "one"], headers: ["Idempotency-Key": "one"])
        #expect(same.status == 200 && same.first("done") != nil)
    }

    @Test("a response to HEAD has no body, and the next response is read correctly", arguments: ["/healthz", Browser.chatPath, "/"])
    func head(path: String) async throws {
        let port = try await TestBed.shared().gateway.port
        try await Wire.run {
            let wire = try Wire(port: port)
            try wire.send("HEAD \(path) HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = try wire.readAnswer(hasBody: false)
            #expect(head.headers["content-length"] != nil && head.headers["content-length"] != "0")
            #expect(try wire.readAnswer().text == #"{"status":"ok"}"#)
        }
    }

    @Test("a request for a protocol upgrade is answered like any other, and is the connection's last")
    func upgrade() async throws {
        let port = try await TestBed.shared().gateway.port
        try await Wire.run {
            let wire = try Wire(port: port)
            let ask = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
            try wire.send(ask + "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try wire.readAnswer()
            #expect(answer.status == 200 && answer.headers["connection"] == "close")
            #expect((try? wire.receive())?.isEmpty ?? true)
        }
    }

    @Test("a body with malformed chunks is rejected", arguments: ["zz\r\n", "5\r\nabcdefgh\r\n"])
    func brokenChunks(chunks: String) async throws {
        let testBed = try await TestBed.shared()
        let token = try #require(testBed.testUser().browser.token)
        let answer = try await Wire.run {
            let wire = try Wire(port: testBed.gateway.port)
            let fields = "Host: a\r\nAuthorization: Bearer \(token)\r\nTransfer-Encoding: chunked"
            try wire.send("POST \(Browser.chatPath) HTTP/1.1\r\n\(fields)\r\n\r\n\(chunks)")
            return try wire.readAnswer()
        }
        #expect(answer.status == 400 && answer.errorCode == "VAL_3001")
    }

    @Test("another method is 405 with Allow, another route 404, both in the envelope")
    func routes() async throws {
        let browser = try await TestBed.shared().testUser().browser
        for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH", "PROPFIND", "TRACE", "QUERY", "M-SEARCH"] {
            let answer = try await browser.send(method, Browser.chatPath)
            #expect(answer.status == 405 && answer.headers["allow"] == "POST", "\(method)")
            #expect(answer.errorCode == "VAL_3004" || method == "HEAD", "\(method)")
        }
        let health = try await browser.send("POST", "/healthz", body: [])
        #expect(health.status == 405 && health.headers["allow"] == "GET, HEAD")
        // Its length is not known before.
        let export = try await browser.send("HEAD", "/api/v1/me/export")
        #expect(export.status == 405 && export.headers["allow"] == "GET")
        for path in ["/", "/functions/v1/", "/functions/v1/chat-streams", "/functions/v1/chat-stream/../../etc/passwd", "/%00"] {
            let answer = try await browser.send("GET", path)
            #expect(answer.status == 404 && answer.errorCode == "BIZ_2004", "\(path): \(answer.text)")
            #expect(answer.json.object("meta")["version"] == "1.0")
        }
    }
}
