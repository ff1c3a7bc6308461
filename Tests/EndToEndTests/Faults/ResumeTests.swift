import Foundation
import Testing

@Suite("Resume", .paced)
struct ResumeTests {
    /// A finished answer, streamed by one gateway.
    private struct Told: Sendable {
        var pair: Pair
        var testUser: TestUser
        var turn: String
        var text: [UInt8]
    }

    private static let told = Task {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let answer = try await testUser.chat("Hello \(sim(["text": wideText]))")
        return Told(pair: pair, testUser: testUser, turn: answer.first("start")?["turn_id"] ?? "", text: Array(answer.content.utf8))
    }

    private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    @Test(
        "after the end gives the rest from every byte on, a cursor inside a character from its start, on the same and on another instance")
    func everyByte() async throws {
        let told = try await Self.told.value
        #expect(String(decoding: told.text, as: UTF8.self) == wideText)
        for testUser in [told.testUser, told.testUser.at(told.pair.other.port)] {
            for cut in 0...told.text.count {
                var start = cut
                while start < told.text.count, Self.isContinuation(told.text[start]) { start -= 1 }
                let rest = try await testUser.resume(told.turn, after: "\(cut)")
                #expect(rest.content == String(decoding: told.text[start...], as: UTF8.self), "after \(cut)")
                #expect(rest.eventTypes == (start == told.text.count ? ["start", "usage", "done"] : ["start", "token", "usage", "done"]))
                #expect(rest.first("token").map { Int($0.id ?? "")! - $0["content"]!.utf8.count } ?? start == start)
                #expect(rest.events.last?.id == "\(told.text.count)")
            }
        }
    }

    @Test("while it runs gives exactly the rest, on the same and on another instance", arguments: [false, true])
    func whileItRuns(elsewhere: Bool) async throws {
        let pair = try await Pair.shared()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for cut in [0, 1, 3, 9, 17, 24, 40, 58] {
                group.addTask {
                    let testUser = pair.one.testUser()
                    let first = try await testUser.openStream("Hello \(sim(["text": wideText, "pace_ms": 60]))")
                    try await first.until(bytes: cut).until { !$0.turnID.isEmpty }
                    first.hangUp()
                    let position = first.position
                    let rest = try await testUser.at(elsewhere ? pair.other.port : pair.one.port).follow(first.turnID, after: position)
                    try await rest.toEnd()
                    #expect(first.text + rest.text == wideText, "cut at \(position)")
                    #expect(rest.eventTypes == ["start", "token", "usage", "done"] && rest.turnID == first.turnID)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("on another instance is live, with at most 1 s of delay")
    func lag() async throws {
        let pair = try await Pair.shared()
        let testUser = pair.one.testUser()
        let here = try await testUser.openStream("Hello \(sim(["words": 60, "pace_ms": 50]))").until { !$0.turnID.isEmpty }
        let there = try await testUser.at(pair.other.port).follow(here.turnID)
        async let near = here.toEnd()
        async let far = there.toEnd()
        let (local, remote) = try await (near, far)
        #expect(local.text == remote.text)
        let lags = remote.arrivals.compactMap { arrival in
            local.arrivals.last { $0.position <= arrival.position }.map { $0.at.duration(to: arrival.at) }
        }
        #expect(try #require(lags.max()) < .seconds(1), "\(lags)")
        // And in pieces, not all at the end.
        #expect(remote.arrivals.count >= 6)
    }

    @Test("accepts `?after=` in place of `Last-Event-ID`")
    func query() async throws {
        let told = try await Self.told.value
        let path = "\(Browser.chatPath)/\(told.turn)?after=7"
        let rest = try await told.testUser.browser.send("GET", path)
        #expect(rest.content == String(decoding: told.text[7...], as: UTF8.self))
    }

    @Test("beyond the end of a turn that ended normally is VAL_3001", arguments: [false, true])
    func beyond(elsewhere: Bool) async throws {
        let told = try await Self.told.value
        let testUser = elsewhere ? told.testUser.at(told.pair.other.port) : told.testUser
        let position = "\(told.text.count + 1)"
        let refused = try await testUser.resume(told.turn, after: position)
        #expect(refused.status == 422 && refused.errorCode == "VAL_3001" && refused.error.object("details")["field"] != nil)
        let stream = try await testUser.resume(told.turn, after: position, headers: ["Accept": "text/event-stream"])
        #expect(stream.status == 422 && stream.eventTypes == ["error"] && stream.first("error")?["code"] == "VAL_3001")
    }

    @Test("with a malformed cursor is VAL_3001", arguments: ["-1", "abc", "1.5", "99999999999999999999"])
    func nonsense(cursor: String) async throws {
        let told = try await Self.told.value
        let refused = try await told.testUser.resume(told.turn, after: cursor)
        #expect(refused.status == 422 && refused.errorCode == "VAL_3001")
    }

    @Test("of another user's or an unknown turn is 404, and so are stop and retry")
    func strangers() async throws {
        let told = try await Self.told.value
        let stranger = told.pair.one.testUser()
        let slow = "Hello \(sim(["words": 40, "pace_ms": 50]))"
        let running = try await told.pair.one.testUser().openStream(slow).until { !$0.turnID.isEmpty }
        for turn in [told.turn, running.turnID, UUID().uuidString.lowercased(), "nothing"] {
            for port in [told.pair.one.port, told.pair.other.port] {
                let testUser = stranger.at(port)
                let answers = [
                    try await testUser.resume(turn, after: "0"), try await testUser.stop(turn), try await testUser.retry(turn),
                ]
                for answer in answers { #expect(answer.status == 404 && answer.errorCode == "BIZ_2004", "\(turn): \(answer.text)") }
            }
        }
        // It was not stopped.
        #expect(try await running.toEnd().end?["finish_reason"] == "stop")
        let nobody = Browser(port: told.pair.one.port, token: nil)
        #expect(try await nobody.send("GET", "\(Browser.chatPath)/\(told.turn)").status == 401)
    }

    @Test("closing every connection at any moment does not change the saved answer")
    func abandoned() async throws {
        let pair = try await Pair.shared()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for cut in [0, 1, 10, 30] {
                group.addTask {
                    let testUser = pair.one.testUser()
                    let first = try await testUser.openStream("Hello \(sim(["text": wideText, "pace_ms": 30]))")
                    try await first.until(bytes: cut)
                    first.hangUp()
                    let (turn, content) = try await pair.database.settledAnswer(of: testUser.id)
                    #expect(turn["status"] == "complete" && content == wideText)
                }
            }
            try await group.waitForAll()
        }
    }
}
