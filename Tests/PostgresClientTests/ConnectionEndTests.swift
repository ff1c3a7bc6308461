import Reactor
import Testing

@testable import PostgresClient

@Suite struct ConnectionEndTests {
    /// Keeps the error that its caller would get.
    private final class FailedBatch: Batch {
        private(set) var error: PostgresError?

        override func deliver(_ error: any Error) { self.error = error as? PostgresError }
    }

    private let connection: Connection
    private let batches = (0..<2).map { _ in FailedBatch(.queries([])) }
    private let refused = PostgresError(.server, "there is no such table", sqlState: "42P01")

    init() throws {
        let reactor = try Reactor(name: "test-end")
        connection = Connection(
            "", PostgresConfiguration(""), hosts: SharedHostRotation(), silenceLimit: nil, on: reactor, events: .init())
    }

    @Test("when a connection ends, an error that the server has reported is that of the batch at the head alone")
    func head() {
        for batch in batches { connection.queue.sent(.batch(batch), statements: 1) }
        connection.headFailure = refused
        connection.close()
        #expect(batches[0].error == refused)
        #expect(batches[1].error?.kind == .unavailable && batches[1].error?.mayHaveTakenEffect == true)
    }

    @Test("when a connection ends, an error of the preparation at the head is not that of a batch behind it")
    func preparation() {
        connection.queue.sent(.preparation(name: "s1"), statements: 1)
        for batch in batches { connection.queue.sent(.batch(batch), statements: 1) }
        connection.headFailure = refused
        connection.close()
        #expect(batches.allSatisfy { $0.error?.kind == .unavailable && $0.error?.mayHaveTakenEffect == true })
    }
}
