import Foundation
import PostgresClient
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ResultPiecesTests {
    @Test("many results in the socket are taken in pieces, between which the reactor does other work")
    func pieces() async throws {
        let reactor = try Reactor(name: "test-pieces")
        reactor.start()
        defer { reactor.stop() }
        let database = try await FreshDatabase()
        var configuration = PostgresConfiguration(database.url)
        configuration.sharedConnections = 1
        let client = PostgresClient(configuration, reactor: reactor)
        client.start()
        _ = try await client.int("select 0")

        let turns = OtherWork(reactor)
        reactor.submit { turns.continueWork() }
        try await withThrowingTaskGroup { group in
            // As many batches as a connection takes are sent before any answer is read, and their answers have come when the second is.
            reactor.submit { usleep(50_000) }
            for _ in 0..<96 {
                group.addTask {
                    try await client.query("select 1") { _ in
                        if turns.noteAnswer() == 1 { usleep(100_000) }
                    }
                }
            }
            try await group.waitForAll()
        }
        await client.shutdown()
        withExtendedLifetime(database) {}
        let answers = turns.end()
        #expect(answers.reduce(0, +) == 96)
        // A batch has three results, so that a piece of 32 results ends with the 11th batch. Between two calls of the other work there are at most
        // two pieces: the last that was deferred, after the first call, and that of the next wake-up's input, before the second.
        #expect(answers.max() ?? 0 <= 22, "\(answers)")
    }
}

/// Deferred work that is always due, and counts the answers between two of its calls.
private final class OtherWork: DeferredWork, Sendable {
    private struct State {
        var answers = [0]
        var isOver = false
    }

    private let state = Mutex(State())
    private let reactor: Reactor

    init(_ reactor: Reactor) { self.reactor = reactor }

    func continueWork() {
        let isOver = state.withLock { state in
            if state.answers.last != 0 { state.answers.append(0) }
            return state.isOver
        }
        if !isOver { reactor.continueLater(self) }
    }

    /// Returns the number of answers so far.
    func noteAnswer() -> Int {
        state.withLock { state in
            state.answers[state.answers.count - 1] += 1
            return state.answers.reduce(0, +)
        }
    }

    /// Returns the numbers of answers between two calls of `continueWork`, and ends the work.
    func end() -> [Int] {
        state.withLock { state in
            state.isOver = true
            return state.answers
        }
    }
}
