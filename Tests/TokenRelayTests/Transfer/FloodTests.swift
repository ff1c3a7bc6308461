import Foundation
import HTTPTestServers
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

@Suite("A provider that sends faster than it is read", .timeLimit(.minutes(2)))
struct FloodTests {
    /// What a server repeats without end after its head.
    enum Flood: String, CaseIterable {
        case comments, oneLine, smallChunks, fields

        var head: String {
            switch self {
            case .comments, .oneLine: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
            case .smallChunks: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            case .fields: "HTTP/1.1 200 OK\r\n"
            }
        }

        var block: [UInt8] {
            let unit =
                switch self {
                case .comments: ": comment\n\n"
                case .oneLine: "x"
                case .smallChunks: "60\r\n" + String(repeating: "x", count: 96) + "\r\n"
                case .fields: "A: b\r\n"
                }
            return Array(repeatElement(Array(unit.utf8), count: (256 << 10) / unit.utf8.count).joined())
        }
    }

    /// Counts the delivered bytes.
    private final class Counter: Sendable {
        let bytes = Atomic(0)
        let end = Mutex<TransferEnd?>(nil)

        var count: Int { bytes.load(ordering: .relaxed) }

        var handlers: TransferHandlers {
            TransferHandlers(
                head: { _ in }, bytes: { self.bytes.add($0.count, ordering: .relaxed) }, end: { end in self.end.withLock { $0 = end } })
        }
    }

    @Test(
        "does not delay other work of the thread, and can be cancelled", arguments: DriverKind.allCases,
        [Flood.comments, .oneLine, .smallChunks])
    func fair(_ driver: DriverKind, _ flood: Flood) async throws {
        let bench = try TransferBench(driver)
        let block = flood.block
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write(flood.head)
            while connection.write(bytes: block) {}
        }
        let counters = (0..<4).map { _ in Counter() }
        let transfers = counters.map { bench.start(TransferRequest(url: server.url), $0.handlers) }
        try await eventually { counters.allSatisfy { $0.bytes.load(ordering: .relaxed) > 1 << 18 } }
        let probe = ThreadProbe(bench.reactor)
        try await eventually { probe.rounds > 200 }
        #expect(probe.isInTime, "\(probe.longest)")
        for transfer in transfers { transfer.cancel() }
        let before = counters.map(\.count)
        // What was submitted before has been done: a cancellation takes effect when the thread gets to it, and not at the flood's end.
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            bench.reactor.submit { continuation.resume() }
        }
        #expect(counters.allSatisfy { $0.end.withLock { $0 } == .cancelled })
        let atEnd = counters.map(\.count)
        // In bytes and not in time, because the thread may have to wait for a processor.
        #expect(zip(before, atEnd).allSatisfy { $1 - $0 < 4 << 20 }, "\(before), \(atEnd)")
        let rounds = probe.rounds
        try await eventually { probe.rounds > rounds + 20 }
        #expect(counters.map(\.count) == atEnd)
    }

    @Test("does not delay other work of the thread, over TLS", .enabled(if: TLSServer.isAvailable), arguments: DriverKind.allCases)
    func fairOverTLS(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        // s_server sends the requested file.
        let server = try TLSServer(mode: "-WWW", file: (name: "flood", size: 1 << 30))
        let counter = Counter()
        let transfer = bench.start(
            TransferRequest(
                url: "https://127.0.0.1:\(server.port)/flood", connectTimeout: .seconds(20), authorityFile: server.certificate),
            counter.handlers)
        try await eventually { counter.bytes.load(ordering: .relaxed) > 1 << 20 }
        let probe = ThreadProbe(bench.reactor)
        try await eventually { probe.rounds > 200 }
        #expect(probe.isInTime, "\(probe.longest)")
        transfer.cancel()
        try await eventually { counter.end.withLock { $0 } == .cancelled }
        #expect(counter.bytes.load(ordering: .relaxed) < 1 << 30)
    }

    @Test("is not read further after a handler has cancelled", arguments: DriverKind.allCases)
    func cancelAtOnce(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let block = Flood.smallChunks.block
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write(Flood.smallChunks.head)
            while connection.write(bytes: block) {}
        }
        let transfer = Mutex<Transfer?>(nil)
        let wasCancelled = Atomic(false)
        let later = Atomic(0)
        let ended = Atomic(false)
        let started = bench.start(
            TransferRequest(url: server.url),
            TransferHandlers(
                head: { _ in },
                bytes: { _ in
                    if wasCancelled.load(ordering: .relaxed) { later.add(1, ordering: .relaxed) }
                    guard let transfer = transfer.withLock({ $0 }) else { return }
                    transfer.cancel()
                    wasCancelled.store(true, ordering: .relaxed)
                },
                end: { _ in ended.store(true, ordering: .releasing) }))
        transfer.withLock { $0 = started }
        try await eventually { ended.load(ordering: .acquiring) }
        #expect(wasCancelled.load(ordering: .relaxed) && later.load(ordering: .relaxed) == 0)
    }

    @Test("is cut off when its head has too many fields", arguments: DriverKind.allCases)
    func fields(_ driver: DriverKind) async throws {
        let bench = try TransferBench(driver)
        let block = Flood.fields.block
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write(Flood.fields.head)
            while connection.write(bytes: block) {}
        }
        #expect(try await bench.end(of: TransferRequest(url: server.url)) == .failed(.init(kind: .cut)))
    }
}
