import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Synchronization
import Testing

@Suite("Checkpoints of running turns")
struct CheckpointTests {
    private static let answer = "Grüß dich! 👩🏽‍🚀 Was heißt „gut“ für dich, e\u{301}inmal — 你好\u{2028}?"

    private func text(
        _ turns: TurnPorts, _ identity: TurnIdentity, _ caller: Caller, after byte: Int = 0, seen: Int64? = nil
    ) async throws -> String? {
        try await turns.tail([TurnCursor(userID: caller.userID, turnID: identity.turnID, afterByte: byte, seen: seen)]).first?.text
    }

    private func count(_ store: StoreFixture, with identity: TurnIdentity) async throws -> Int {
        try await store.count("select count(*) from gateway.checkpoints where \(identity.turnID.uuid) = any (turns)")
    }

    @Test("released text is assembled from all checkpoints, in any script")
    func growing() async throws {
        let store = try await StoreFixture.shared()
        let (peer, caller) = (try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        var progress = TurnProgress.first(identity, of: caller, "")
        _ = try await peer.turns.checkpoint([progress])
        #expect(try await text(peer.turns, identity, caller) == "")
        for scalar in Self.answer.unicodeScalars {
            progress = progress.next(String(scalar))
            _ = try await peer.turns.checkpoint([progress])
        }
        #expect(try await text(peer.turns, identity, caller) == Self.answer)
    }

    @Test("quotes, backslashes, braces, NULL and line ends are stored as text")
    func awkward() async throws {
        let store = try await StoreFixture.shared()
        let (peer, caller) = (try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        let awkward = "\"\\{},NULL\n\r\t'$1 \\u0041 %s"
        var progress = TurnProgress.first(identity, of: caller, "NULL")
        _ = try await peer.turns.checkpoint([progress])
        progress = progress.next(awkward)
        _ = try await peer.turns.checkpoint([progress])
        #expect(try await text(peer.turns, identity, caller) == "NULL" + awkward)
    }

    @Test("a repeated checkpoint changes nothing, and a longer one from the same byte replaces it")
    func repeated() async throws {
        let store = try await StoreFixture.shared()
        let (peer, caller) = (try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        let first = TurnProgress.first(identity, of: caller, "One ")
        let second = first.next("two ")
        let longer = first.next("two three ")
        for tick in [first, first, second, longer, second] { _ = try await peer.turns.checkpoint([tick]) }
        #expect(try await text(peer.turns, identity, caller) == "One two three ")
        _ = try await peer.turns.checkpoint([longer.next("four")])
        #expect(try await text(peer.turns, identity, caller) == "One two three four")
    }

    @Test("only the owner's current epoch can checkpoint a turn, and only while the turn runs")
    func strangers() async throws {
        let store = try await StoreFixture.shared()
        let (peer, other, caller) = (try await TestInstance(store), try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        let first = TurnProgress.first(identity, of: caller, "Mine")
        _ = try await other.turns.checkpoint([first])
        #expect(try await text(peer.turns, identity, caller) == "")
        _ = try await peer.turns.checkpoint([first])
        var another = first.next(" again")
        another.identity.attempt = 2
        _ = try await peer.turns.checkpoint([another])
        #expect(try await text(peer.turns, identity, caller) == "Mine")

        try await peer.turns.finish(.complete(identity, of: caller))
        _ = try await peer.turns.checkpoint([first, first.next(" late")])
        #expect(try await text(peer.turns, identity, caller) == nil)
        _ = try await store.sweep()
        #expect(try await store.count("select count(*) from gateway.running_turns where turn_id = \(identity.turnID.uuid)") == 0)
    }

    @Test("a turn that was saved completely again can be read from every byte, also after earlier checkpoints are removed")
    func wholes() async throws {
        let store = try await StoreFixture.shared()
        let (peer, other, caller) = (try await TestInstance(store), try await TestInstance(store), Caller.someone())
        let (identity, others) = (try await peer.begin(caller), try await other.begin(caller))
        _ = try await other.turns.checkpoint([.first(others, of: caller, "Another")])
        let one = TurnProgress.first(identity, of: caller, "One ")
        let two = one.next("two ")
        let whole = one.next("One two three ", from: 0)
        let four = whole.next("four")
        var saved: [Int64?] = []
        for tick in [one, two, whole, four] { saved.append(try await peer.turns.checkpoint([tick])) }
        let ids = saved.compactMap { $0 }
        #expect(ids == ids.sorted() && Set(ids).count == 4)
        func expectReadable() async throws {
            let all = "One two three four"
            for byte in 0..<all.count {
                #expect(try await text(peer.turns, identity, caller, after: byte) == String(all.dropFirst(byte)), "after byte \(byte)")
            }
            #expect(try await text(peer.turns, identity, caller, after: 8, seen: ids[1]) == "three four")
            #expect(try await text(peer.turns, identity, caller, after: 14, seen: ids[2]) == "four")
            #expect(try await text(peer.turns, identity, caller, after: 18, seen: ids[3]) == "")
        }
        try await expectReadable()
        // Without text nothing is saved, but unneeded checkpoints are removed.
        #expect(try await peer.turns.checkpoint([], neededFrom: ids[2]) == nil)
        #expect(try await count(store, with: identity) == 2)
        try await expectReadable()
        let place = TurnCursor(userID: caller.userID, turnID: identity.turnID, afterByte: 0)
        #expect(try await peer.turns.tail([place]).first?.seen == ids[3])
        _ = try await peer.turns.checkpoint([], neededFrom: .max)
        #expect(try await count(store, with: identity) == 0)
        #expect(try await count(store, with: others) == 1)
    }

    @Test("bytes that are not valid text are rejected at once")
    func noText() async throws {
        let store = try await StoreFixture.shared()
        let (peer, caller) = (try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        await #expect(throws: StoreFault.self) { try await peer.turns.checkpoint([.first(identity, of: caller, "a\0b")]) }
    }

    @Test("checkpoints of finished turns are removed, those of running turns are kept")
    func sweep() async throws {
        let store = try await StoreFixture()
        let (peer, owner, caller, neighbour) = (
            try await TestInstance(store), try await TestInstance(store), Caller.someone(), Caller.someone()
        )
        let (ended, running) = (try await owner.begin(caller), try await peer.begin(neighbour))
        _ = try await owner.turns.checkpoint([.first(ended, of: caller, "Ended")])
        _ = try await peer.turns.checkpoint([.first(running, of: neighbour, "Running")])
        // A checkpoint that was being sent when the turn was finished.
        try await owner.turns.finish(.complete(ended, of: caller))
        #expect(try await store.sweep() == 1)
        #expect(try await text(peer.turns, running, neighbour) == "Running")
        #expect(try await count(store, with: ended) == 0)
        #expect(try await store.count("select count(*) from gateway.running_turns") == 1)
    }

    @Test("an answer can be read from every byte; from inside a character nothing is returned")
    func everyByte() async throws {
        let store = try await StoreFixture.shared()
        let (peer, caller) = (try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        var progress = TurnProgress.first(identity, of: caller, "")
        var rest = Self.answer.unicodeScalars[...]
        while !rest.isEmpty {
            progress = progress.next(String(rest.prefix(5)))
            _ = try await peer.turns.checkpoint([progress])
            rest = rest.dropFirst(5)
        }
        let bytes = Array(Self.answer.utf8)
        for byte in 0...bytes.count + 1 {
            let isInside = byte > bytes.count || (byte < bytes.count && bytes[byte] & 0b1100_0000 == 0b1000_0000)
            let expected = isInside ? "" : String(decoding: bytes[byte...], as: UTF8.self)
            #expect(try await text(peer.turns, identity, caller, after: byte) == expected, "after byte \(byte)")
        }
    }

    @Test("text after a gap is not returned: a failover can lose the newest checkpoints")
    func gap() async throws {
        let store = try await StoreFixture.shared()
        let (peer, caller) = (try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        var ticks = [TurnProgress.first(identity, of: caller, "One ")]
        for word in ["two ", "three ", "four"] { ticks.append(ticks[ticks.count - 1].next(word)) }
        for tick in ticks { _ = try await peer.turns.checkpoint([tick]) }
        try await store.admin.execute(
            "delete from gateway.checkpoints where turns = array[\(identity.turnID.uuid)::uuid] and from_bytes = array[\(ticks[2].fromByte)::int]"
        )
        #expect(try await text(peer.turns, identity, caller) == "One two ")
        #expect(try await text(peer.turns, identity, caller, after: 4) == "two ")
        #expect(try await text(peer.turns, identity, caller, after: ticks[3].fromByte) == "four")
        #expect(try await text(peer.turns, identity, caller, after: ticks[2].fromByte + 1) == "")
    }

    @Test("tail leaves out turns that have ended, do not exist or belong to another user")
    func ends() async throws {
        let store = try await StoreFixture.shared()
        let (peer, caller) = (try await TestInstance(store), Caller.someone())
        let (running, ended) = (try await peer.begin(caller), try await peer.begin(caller))
        _ = try await peer.turns.checkpoint([.first(running, of: caller, "So far"), .first(ended, of: caller, "The end")])
        try await peer.turns.finish(.complete(ended, of: caller, "The end"))
        let places = [running, ended].map { TurnCursor(userID: caller.userID, turnID: $0.turnID, afterByte: 3) }
        let others = [
            TurnCursor(userID: .random(), turnID: running.turnID, afterByte: 0),
            TurnCursor(userID: caller.userID, turnID: .random(), afterByte: 0),
        ]
        let tails = try await peer.turns.tail(places + others)
        let seen = try #require(tails.first?.seen)
        #expect(tails == [TurnTail(turnID: running.turnID, attempt: 1, text: "far", seen: seen)])
        #expect(try await peer.turns.tail([]) == [])
    }

    @Test("a remote turn has the message's assessment, and from the first checkpoint on the decision")
    func remoteFacts() async throws {
        let store = try await StoreFixture.shared()
        let (peer, caller) = (try await TestInstance(store), Caller.someone())
        let request = TurnRequest(message: "Hello", region: Region(country: "GB", locale: "en-GB"))
        let identity = try await peer.turns.begin(caller, request, risk: .danger(.concern)).begun.identity
        let before = try #require(try await peer.turns.load(identity.turnID, for: caller))
        #expect(
            before.domain.source == .abstained && before.risk.tier == .concern && before.region == Region(country: "GB", locale: "en-GB"))
        let progress = TurnProgress.first(identity, of: caller, "Well")
        _ = try await peer.turns.checkpoint([progress])
        let after = try #require(try await peer.turns.load(identity.turnID, for: caller))
        #expect(after.status == .running && after.content == "" && after.bill == nil)
        #expect(after.domain == progress.start?.facts.domain && after.risk == progress.start?.facts.risk)
        #expect(after.region == Region(country: "DE", locale: "de-AT"))
    }

    @Test("a stop is returned by the next lease renewal and notified at once; other users' turns cannot be stopped")
    func stop() async throws {
        let store = try await StoreFixture.shared()
        let (peer, other, caller) = (try await TestInstance(store), try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        #expect(try await other.turns.requestStop(.someone(), identity.turnID) == false)
        #expect(try await other.turns.requestStop(caller, .random()) == false)
        #expect(try await peer.turns.renewLease() == [])

        func asked() async throws -> String? {
            try await store.value("select stop_requested_at::text from gateway.running_turns where turn_id = \(identity.turnID.uuid)")
        }
        #expect(try await other.turns.requestStop(caller, identity.turnID))
        let first = try await asked()
        #expect(first != nil)
        #expect(try await other.turns.requestStop(caller, identity.turnID))
        // Requested once, notified once.
        #expect(try await asked() == first)
        #expect(try await other.turns.renewLease() == [])
        #expect(try await peer.turns.renewLease() == [identity.turnID])
        try await peer.turns.finish(.complete(identity, of: caller))
        #expect(try await peer.turns.renewLease() == [])
        #expect(try await other.turns.requestStop(caller, identity.turnID))
    }

    @Test("a turn of a deleted conversation can still be stopped, and cannot be loaded")
    func stopDeleted() async throws {
        let store = try await StoreFixture.shared()
        let (peer, other, caller) = (try await TestInstance(store), try await TestInstance(store), Caller.someone())
        let identity = try await peer.begin(caller)
        #expect(try await store.conversations.delete(caller, identity.conversationID, nil) == identity.turnID)
        #expect(try await other.turns.load(identity.turnID, for: caller) == nil)
        #expect(try await other.turns.requestStop(caller, identity.turnID))
        #expect(try await peer.turns.renewLease() == [identity.turnID])
        #expect(try await peer.turns.finish(.complete(identity, of: caller)) == .finalized)
    }

    private final class Asked: Sendable {
        let turns = Mutex<Set<TurnID>>([])
    }

    @Test("a stop is received by listeners")
    func announcement() async throws {
        let store = try await StoreFixture.shared()
        let (peer, other, caller) = (try await TestInstance(store), try await TestInstance(store), Caller.someone())
        // The listener may not be connected yet, and it also receives other tests' stops: turns are stopped until one of them is received.
        let asked = Asked()
        let isReceived = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await turnID in store.gateway.stopRequests() where asked.turns.withLock({ $0.contains(turnID) }) { return true }
                return false
            }
            group.addTask {
                while !Task.isCancelled {
                    let identity = try await peer.begin(caller)
                    asked.turns.withLock { _ = $0.insert(identity.turnID) }
                    _ = try await other.turns.requestStop(caller, identity.turnID)
                    try await peer.turns.finish(.complete(identity, of: caller))
                    try? await Task.sleep(for: .milliseconds(20))
                }
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        #expect(isReceived)
    }
}
