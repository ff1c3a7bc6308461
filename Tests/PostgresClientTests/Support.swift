import PostgresClient
import Reactor
import TestSupport
import Testing

/// A client on a database of its own, on a reactor of its own.
func withClient(
    configure: (inout PostgresConfiguration) -> Void = { _ in }, _ body: (PostgresClient, FreshDatabase) async throws -> Void
) async throws {
    let database = try await FreshDatabase()
    try await withClient(at: database.url, configure: configure) { try await body($0, database) }
}

func withClient(
    at url: String, configure: (inout PostgresConfiguration) -> Void = { _ in }, _ body: (PostgresClient) async throws -> Void
) async throws {
    var configuration = PostgresConfiguration(url)
    // Longer than the defaults, so that tests do not fail on a busy machine; tests of time limits set their own.
    configuration.statementTimeout = .seconds(30)
    configuration.connectTimeout = .seconds(20)
    configuration.defaultDeadline = .seconds(60)
    configure(&configuration)
    await clients.wait()
    let reactor = try Reactor(name: "test-postgres")
    reactor.start()
    let client = PostgresClient(configuration, reactor: reactor)
    client.start()
    let outcome: Result<Void, any Error>
    do {
        outcome = .success(try await body(client))
    } catch {
        outcome = .failure(error)
    }
    await client.shutdown(grace: .milliseconds(200))
    reactor.stop()
    await clients.signal()
    try outcome.get()
}

/// Bounds how many tests run at once: more would overload the machine.
private let clients = TaskSemaphore(count: 4)

private actor TaskSemaphore {
    private var count: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(count: Int) {
        self.count = count
    }

    func wait() async {
        if count > 0 { count -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }

    func signal() {
        if waiting.isEmpty { count += 1 } else { waiting.removeFirst().resume() }
    }
}

extension PostgresClient {
    func int(_ query: Query, deadline: Duration? = nil) async throws -> Int? {
        try await self.query(query, deadline: deadline) { $0.int(0, 0) }
    }

    func text(_ query: Query, deadline: Duration? = nil) async throws -> String? {
        try await self.query(query, deadline: deadline) { $0.text(0, 0) }
    }
}

/// The error that `body` throws, if it throws one of ours.
func postgresError(_ body: () async throws -> Void) async -> PostgresError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? PostgresError
    }
}

/// Compares an awaited value: inside closures `#expect(try await …)` does not see that the closure may throw.
func expectEqual<Value: Equatable>(_ actual: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(actual == expected, sourceLocation: sourceLocation)
}

extension Rows {
    /// nil for NULL and for what is not an integer.
    func int(_ row: Int, _ column: Int) -> Int? { withBytes(row, column) { Int(column: $0) } }

    /// nil for NULL and for what is not a truth value.
    func bool(_ row: Int, _ column: Int) -> Bool? { withBytes(row, column) { Bool(column: $0) } }
}
