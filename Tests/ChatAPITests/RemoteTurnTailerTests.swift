import CoachCore
import Logging
import Synchronization
import TestSupport
import Testing
import TokenRelay

@testable import ChatAPI

@Suite("Text of turns that run on other instances")
struct RemoteTurnTailerTests {
    /// A tailer, and the database that it reads: the text of running turns, and the end of the others.
    private final class Fixture: Sendable {
        struct State {
            var turns: [TurnID: KnownTurn] = [:]
            /// Of the turns that run.
            var texts: [TurnID: String] = [:]
            /// Turns whose text, or whose end, cannot be read.
            var unreadable: Set<TurnID> = []
            var unloadable: Set<TurnID> = []
            /// Statements for turns of which nothing was read before do not end.
            var isSearching = false
            var searches = 0
            /// The number of turns in each statement.
            var counts: [Int] = []
        }
        let state = Mutex(State())
        private let tailer: Mutex<RemoteTurnTailer?> = Mutex(nil)

        /// Runs the tailer while `body` runs. `interval`: between two polls.
        func run(every interval: Duration = .milliseconds(1), _ body: () async throws -> Void) async throws {
            let recovery = TurnRecovery.fake(load: { [self] in try load($1) }, tail: { [self] in try await tail($0) })
            let tailer = RemoteTurnTailer(
                recovery: recovery, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, interval: interval)
            self.tailer.withLock { $0 = tailer }
            let running = Task { try await tailer.run() }
            defer { running.cancel() }
            try await body()
        }

        /// Turns with a text so far, each with a reader.
        func follow(_ count: Int, _ text: String) throws -> [LiveTurn] {
            let tails = try tail(count, text)
            for tail in tails { #expect(tail.add(Subscriber(), limit: 1)) }
            return tails
        }

        /// Reads a turn once.
        func read(_ turn: LiveTurn) async throws { try await tailer.withLock { $0 }?.read(turn) }

        /// Turns with a text so far, without readers.
        func tail(_ count: Int, _ text: String) throws -> [LiveTurn] {
            try (0..<count).map { _ in
                let facts = TurnFacts.sample
                let known = KnownTurn(
                    userID: facts.userID, identity: facts.identity, day: facts.day, status: .running, finishReason: nil, errorCode: nil,
                    content: "", bill: nil, domain: facts.domain, personaID: nil, risk: .calm, region: .unknown)
                state.withLock { state in
                    state.turns[facts.identity.turnID] = known
                    state.texts[facts.identity.turnID] = text
                }
                return try #require(tailer.withLock { $0?.tail(known, firstChoice: facts.model) })
            }
        }

        private func load(_ turnID: TurnID) throws -> KnownTurn? {
            try state.withLock { state in
                if state.unloadable.contains(turnID) { throw StoreFault.unavailable(retryAfter: 1) }
                guard var known = state.turns[turnID] else { return nil }
                (known.status, known.finishReason, known.content) = (.complete, .stop, "The end")
                return known
            }
        }

        private func tail(_ cursors: [TurnCursor]) async throws -> [TurnTail] {
            if cursors.contains(where: { $0.seen == nil }) {
                state.withLock { $0.searches += 1 }
                while state.withLock({ $0.isSearching }) { try await Task.sleep(for: .milliseconds(1)) }
            }
            return try state.withLock { state in
                state.counts.append(cursors.count)
                if !state.unreadable.isDisjoint(with: cursors.map(\.turnID)) { throw StoreFault.unavailable(retryAfter: 1) }
                return cursors.compactMap { cursor in
                    state.texts[cursor.turnID].map {
                        TurnTail(turnID: cursor.turnID, attempt: 1, text: String($0.dropFirst(cursor.afterByte)), seen: 1)
                    }
                }
            }
        }
    }

    private func text(of turn: LiveTurn) -> String { String(decoding: turn.released.text, as: UTF8.self) }

    @Test("a statement has at most 128 turns, and all are served, also beside a statement that fails")
    func lots() async throws {
        let fixture = Fixture()
        try await fixture.run {
            fixture.state.withLock { $0.isSearching = true }
            let tails = try fixture.follow(300, "Hello")
            fixture.state.withLock { state in
                state.unreadable = [tails[0].facts.identity.turnID]
                state.isSearching = false
            }
            // The one that cannot be read is in a statement with at most 127 others.
            try await eventually("the other statements") { tails.count { text(of: $0) == "Hello" } >= 300 - 128 }
            #expect(tails[0].releasedBytes == 0)
            fixture.state.withLock { $0.unreadable = [] }
            try await eventually("the first text of all") { tails.allSatisfy { text(of: $0) == "Hello" } }
            fixture.state.withLock { state in state.texts = state.texts.mapValues { $0 + ", you" } }
            try await eventually("more text of all") { tails.allSatisfy { text(of: $0) == "Hello, you" } }
        }
        let counts = fixture.state.withLock { $0.counts }
        #expect(counts.max() == 128, "\(Set(counts))")
    }

    @Test("turns that are read already get their text while the first text of others is searched")
    func searching() async throws {
        let fixture = Fixture()
        try await fixture.run {
            let old = try fixture.follow(1, "Old")[0]
            try await eventually("the first text") { text(of: old) == "Old" }
            let searches = fixture.state.withLock { state in
                state.isSearching = true
                return state.searches
            }
            let new = try fixture.follow(1, "New")[0]
            try await eventually("the search") { fixture.state.withLock { $0.searches } > searches }
            fixture.state.withLock { $0.texts[old.facts.identity.turnID] = "Older" }
            try await eventually("more text") { text(of: old) == "Older" }
            #expect(new.releasedBytes == 0)
            fixture.state.withLock { $0.isSearching = false }
            try await eventually("the first text of the other") { text(of: new) == "New" }
        }
    }

    @Test("a turn whose end cannot be loaded keeps no other open, and ends when it can be")
    func ends() async throws {
        let fixture = Fixture()
        try await fixture.run {
            let tails = try fixture.follow(40, "The")
            try await eventually("the first text") { tails.allSatisfy { text(of: $0) == "The" } }
            fixture.state.withLock { state in
                state.texts = [:]
                state.unloadable = [tails[0].facts.identity.turnID]
            }
            try await eventually("the other ends") { tails.count { $0.ending?.finishReason == .stop } == 39 }
            #expect(tails[0].ending == nil && tails.dropFirst().allSatisfy { text(of: $0) == "The end" })
            fixture.state.withLock { $0.unloadable = [] }
            try await eventually("the last end") { tails[0].ending?.finishReason == .stop }
        }
    }

    @Test("a turn without readers is read when it is asked for: its text so far, then its end")
    func once() async throws {
        let fixture = Fixture()
        try await fixture.run(every: .seconds(60)) {
            let turn = try fixture.tail(1, "The")[0]
            try await fixture.read(turn)
            #expect(text(of: turn) == "The" && turn.ending == nil)
            fixture.state.withLock { $0.texts = [:] }
            try await fixture.read(turn)
            #expect(text(of: turn) == "The end" && turn.ending?.finishReason == .stop)
        }
    }

    @Test("a turn of which less was saved than was read has the saved text at its end")
    func less() async throws {
        let fixture = Fixture()
        try await fixture.run {
            let turn = try fixture.follow(1, "The end, and more")[0]
            try await eventually("the text") { text(of: turn) == "The end, and more" }
            fixture.state.withLock { $0.texts = [:] }
            try await eventually("the end") { turn.ending?.finishReason == .stop }
            #expect(text(of: turn) == "The end")
        }
    }

    @Test("a turn whose conversation was deleted is stopped, with the text that was read and a bill that is not known")
    func deleted() async throws {
        let fixture = Fixture()
        try await fixture.run {
            let turn = try fixture.follow(1, "The")[0]
            try await eventually("the text") { text(of: turn) == "The" }
            fixture.state.withLock { state in (state.turns, state.texts) = ([:], [:]) }
            try await eventually("the end") { turn.ending == .deleted }
            #expect(text(of: turn) == "The")
        }
    }
}
