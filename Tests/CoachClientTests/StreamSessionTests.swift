import GatewayAPI
import JSON
import Testing

@testable import CoachClient

@Suite("The stream session")
struct StreamSessionTests {
    private let success = ResponseHead(status: 200, headers: ["content-type": "text/event-stream; charset=utf-8"])
    private var session = StreamSession(ResumeMachine(policy: RetryPolicy()))

    private mutating func receive(_ input: StreamSession.Input) -> [StreamSession.Step] { session.receive(input, jitter: 0) }

    private mutating func reject(_ status: Int, _ headers: [String: String] = [:], _ body: String) -> [StreamSession.Step] {
        session.connect()
        return receive(.head(ResponseHead(status: status, headers: headers))) + receive(.bytes(Array(body.utf8))) + receive(.end)
    }

    @Test("a whole stream delivers its events and finishes")
    mutating func whole() {
        #expect(receive(.head(success)) == [])
        #expect(receive(.bytes(Transcript.wire())) == Transcript.events.map { .deliver($0) } + [.finish])
        #expect(receive(.bytes(Transcript.wire())) == [])
        #expect(receive(.end) == [])
    }

    @Test("with a cut at every byte, by an end or an error, the resumed answer is complete")
    mutating func everyCut() {
        struct Broken: Error {}
        var uncut = session
        var reception = Reception()
        _ = uncut.receive(.head(success), jitter: 0)
        for (position, byte) in Transcript.wire().enumerated() {
            session = uncut
            var steps = receive(position.isMultiple(of: 2) ? .end : .failure(Broken()))
            #expect(steps == [.reconnect(after: .seconds(1))])
            session.connect()
            var received = 0
            if case .resume(_, let bytes) = session.machine.next { received = bytes }
            steps = receive(.head(success)) + receive(.bytes(Transcript.wire(after: received)))
            var resumed = reception
            for case .deliver(let event) in steps { resumed.take(event) }
            #expect(resumed == .whole, "cut at \(position)")
            for case .deliver(let event) in uncut.receive(.bytes([byte]), jitter: 0) { reception.take(event) }
        }
        #expect(reception == .whole)
    }

    @Test("with repeated cuts, each one byte further, the answer is complete")
    mutating func manyCuts() {
        var reception = Reception()
        session = StreamSession(ResumeMachine(policy: RetryPolicy(attempts: .max)))
        var steps: [StreamSession.Step] = []
        var length = 0
        while steps.last != .finish {
            session.connect()
            var received = 0
            if case .resume(_, let bytes) = session.machine.next { received = bytes }
            length += 3
            steps = receive(.head(success)) + receive(.bytes(Array(Transcript.wire(after: received).prefix(length)))) + receive(.end)
            for case .deliver(let event) in steps { reception.take(event) }
        }
        #expect(reception == .whole)
    }

    @Test("resumed at every byte, also inside characters, the answer has no repetition and no gap")
    mutating func everyPosition() {
        let bytes = Array(Transcript.text.utf8)
        for position in 0...bytes.count {
            session = StreamSession(ResumeMachine(resuming: Transcript.turn, received: position, policy: RetryPolicy()))
            let steps = receive(.head(success)) + receive(.bytes(Transcript.wire(after: position)))
            var text: [UInt8] = []
            for case .deliver(.token(let content)) in steps { text += content.utf8 }
            // An app with half a character receives the other half, which is not valid text by itself.
            if String(bytes: bytes[..<position], encoding: .utf8) != nil { #expect(Array(bytes[..<position]) + text == bytes) }
            #expect(steps.last == .finish)
        }
    }

    @Test("five ticks without a byte are a lost connection; a ping resets the count")
    mutating func silence() {
        _ = receive(.head(success))
        for _ in 1...10 {
            for _ in 1...4 { #expect(receive(.tick) == []) }
            #expect(receive(.bytes(Array(": ping\n\n".utf8))) == [])
        }
        for _ in 1...4 { #expect(receive(.tick) == []) }
        #expect(receive(.tick) == [.reconnect(after: .seconds(1))])
        #expect(receive(.tick) == [])
    }

    @Test("the idle timeout applies before the head too")
    mutating func silentHead() {
        for _ in 1...4 { #expect(receive(.tick) == []) }
        #expect(receive(.tick) == [.reconnect(after: .seconds(1))])
    }

    @Test("an error envelope becomes a typed error with its texts and the request's id")
    mutating func envelope() {
        let body = #"""
            {"success":false,"data":null,"error":{"code":"BIZ_2002","message":"daily limit","user_message":"Let's continue tomorrow.",\#
            "action":"upgrade","retry_after":3600,"details":{"limit":20}},"meta":{"request_id":"r-7","timestamp":"t","version":"1.0"}}
            """#
        var error = CoachError(
            code: .gateway(.quotaExhausted), message: "daily limit", userMessage: "Let's continue tomorrow.", action: .upgrade,
            retryable: false)
        error.retryAfter = .seconds(3600)
        error.requestID = "r-7"
        error.details = .object([JSONMember("limit", .integer(20))])
        error.isFromGateway = true
        #expect(reject(429, ["content-type": "application/json"], body) == [.fail(error)])
        #expect(error.errorDescription == "Let's continue tomorrow.")
    }

    @Test("an error response in the form of a stream is an error too, and its card is delivered before it")
    mutating func rejectionAsStream() {
        var body: [UInt8] = []
        StreamEvent.safety(Transcript.card).encode(cursor: 0, into: &body)
        StreamEvent.error(Transcript.failure(.overloaded)).encode(cursor: 0, into: &body)
        let headers = ["content-type": "text/event-stream", "retry-after": "7"]
        #expect(
            reject(503, headers, String(decoding: body, as: UTF8.self)) == [
                .deliver(.safety(Transcript.card)), .reconnect(after: .seconds(7)),
            ])
    }

    @Test("Retry-After is waited for up to 60 s")
    mutating func retryAfter() {
        #expect(reject(503, ["retry-after": "60"], "") == [.reconnect(after: .seconds(60))])
        session = StreamSession(ResumeMachine(policy: RetryPolicy()))
        guard case .fail(let error) = reject(503, ["retry-after": "61"], "").first else { return #expect(Bool(false), "it waited") }
        #expect(error.retryAfter == .seconds(61))
        #expect(error.retryable)
    }

    @Test(
        "the status determines the error of a response without an envelope",
        arguments: [
            (502, ErrorCode.unforeseen, true), (503, .overloaded, true), (429, .rateLimited, true), (404, .notFound, false),
            (401, .unauthenticated, false), (302, .unforeseen, false),
        ])
    func proxies(status: Int, code: ErrorCode, retryable: Bool) {
        let error = CoachError(ResponseHead(status: status, headers: ["x-request-id": "r"]), body: Array("<html>".utf8))
        #expect(error.code == .gateway(code))
        #expect(error.retryable == retryable)
        #expect(error.requestID == "r")
    }

    @Test("the page of a captive portal is an error")
    mutating func captivePortal() {
        #expect(receive(.head(ResponseHead(status: 200, headers: ["content-type": "text/html"]))) == [.reconnect(after: .seconds(1))])
    }

    @Test("after an invalid event the stream is resumed; an event of an unknown type is ignored")
    mutating func strangeEvents() {
        _ = receive(.head(success))
        #expect(receive(.bytes(Array(#"data: {"type":"mood","done":false}\#n\#n"#.utf8))) == [])
        #expect(receive(.bytes(Array("data: {\"type\":\"tok\n\n".utf8))) == [.reconnect(after: .seconds(1))])
    }

    @Test("random bytes never crash the session")
    mutating func randomBytes() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            session = StreamSession(ResumeMachine(policy: RetryPolicy()))
            _ = receive(.head(success))
            var bytes = Transcript.wire()
            for _ in 0..<4 { bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator) }
            _ = receive(.bytes(bytes))
            _ = receive(.end)
        }
    }
}
