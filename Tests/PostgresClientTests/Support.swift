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
    // Time limits are what some tests are about; the others must not fail because the machine is busy.
    configuration.statementTimeout = .seconds(30)
    configuration.connectTimeout = .seconds(20)
    configuration.defaultDeadline = .seconds(60)
    configure(&configuration)
    await turnstile.enter()
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
    await turnstile.leave()
    try outcome.get()
}

/// All tests at once would measure the machine and not the client.
private let turnstile = Turnstile(places: 4)

private actor Turnstile {
    private var places: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) {
        self.places = places
    }

    func enter() async {
        if places > 0 { places -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }

    func leave() {
        if waiting.isEmpty { places += 1 } else { waiting.removeFirst().resume() }
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

/// For values that are awaited: inside closures `#expect(try await …)` does not see that the closure may throw.
func expectEqual<Value: Equatable>(_ actual: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(actual == expected, sourceLocation: sourceLocation)
}
