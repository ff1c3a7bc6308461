import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

@Suite("Transfer, cancelled")
struct TransferCancellationTests {
    @Test("transfers cancelled at random times end exactly once and leave no connection open", arguments: DriverKind.allCases)
    func cancelRace(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { $0.answerEach("data") }
        try await withThrowingTaskGroup(of: TransferEnd.self) { group in
            for index in 0..<300 {
                group.addTask {
                    let (recorder, transfer) = bench.start(TransferRequest(url: server.url, connectTimeout: .seconds(20)))
                    if index % 3 == 0 { transfer.cancel() }
                    if index % 3 == 1 { try await eventually { recorder.now.heads.count == 1 } }
                    transfer.cancel()
                    transfer.cancel()
                    return try await recorder.end()
                }
            }
            for try await end in group { #expect(end == .cancelled || end == .complete) }
        }
        bench.client.close()
        try await eventually { RawServer.connections(to: server.port) == 0 }
    }

    @Test("closing a client cancels running transfers, and later ones end as cancelled", arguments: DriverKind.allCases)
    func close(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.waitForClose()
        }
        let recorders = (0..<10).map { _ in bench.start(TransferRequest(url: server.url)).recorder }
        try await eventually { server.accepted == 10 }
        bench.client.close()
        for recorder in recorders { #expect(try await recorder.end() == .cancelled) }
        try await eventually { RawServer.connections(to: server.port) == 0 }
        #expect(try await bench.end(of: TransferRequest(url: server.url)) == .cancelled)
        bench.client.close()
    }

    @Test("handlers can start and cancel transfers", arguments: DriverKind.allCases)
    func reentrance(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.streamHead()
            connection.chunk("data")
            connection.waitForClose()
        }
        let second = TransferRecorder()
        let first = Mutex<Transfer?>(nil)
        let ended = Atomic(false)
        let transfer = bench.start(
            TransferRequest(url: server.url),
            TransferHandlers(
                head: { _ in },
                bytes: { _ in
                    _ = bench.start(TransferRequest(url: server.url), second.handlers)
                    first.withLock { $0?.cancel() }
                },
                end: { _ in ended.store(true, ordering: .releasing) }))
        first.withLock { $0 = transfer }
        try await eventually { second.text == "data" }
        transfer.cancel()
        try await eventually { ended.load(ordering: .acquiring) }
    }
}
