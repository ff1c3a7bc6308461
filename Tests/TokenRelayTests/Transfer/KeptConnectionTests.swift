import Foundation
import Synchronization
import Testing

@testable import TokenRelay

@Suite("A connection that was kept")
struct KeptConnectionTests {
    let bench: PoolBench

    init() throws { bench = try PoolBench() }

    /// Answers the first request of a connection, and does with the second what a test says. Counts requests.
    private final class SecondRequestServer: Sendable {
        let server: RawServer
        private let count: Count

        private final class Count: Sendable { let value = Atomic(0) }

        var requests: Int { count.value.load(ordering: .relaxed) }

        init(_ second: @escaping @Sendable (RawConnection) -> Void) throws {
            let count = Count()
            self.count = count
            server = try RawServer { connection in
                guard connection.request() != nil else { return }
                count.value.add(1, ordering: .relaxed)
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                guard connection.request() != nil else { return }
                count.value.add(1, ordering: .relaxed)
                second(connection)
            }
        }
    }

    /// Far longer than a connection's loss takes to be seen: the request was worked on.
    private static let work: UInt32 = 200_000

    @Test("and is closed by a server that had the request for a while, does not make it be sent twice", arguments: [false, true])
    func workedOn(resets: Bool) async throws {
        let server = try SecondRequestServer { connection in
            usleep(Self.work)
            if resets { connection.reset() }
        }
        #expect(try await bench.end(of: TransferRequest(url: server.server.url, body: [1])) == .complete)
        guard case .failed(let failure) = try await bench.end(of: TransferRequest(url: server.server.url, body: [2])) else {
            return #expect(Bool(false), "not a failure")
        }
        #expect(failure.kind == .unanswered)
        #expect(server.requests == 2 && server.server.accepted == 1)
    }

    @Test("and is closed at once by a server that has read the request, does not make it be sent twice")
    func readAndClosed() async throws {
        for _ in 0..<20 {
            let server = try SecondRequestServer { _ in }
            #expect(try await bench.end(of: TransferRequest(url: server.server.url, body: [1])) == .complete)
            guard case .failed(let failure) = try await bench.end(of: TransferRequest(url: server.server.url, body: [2])) else {
                return #expect(Bool(false), "not a failure")
            }
            #expect(failure.kind == .unanswered)
            #expect(server.requests == 2 && server.server.accepted == 1)
        }
    }

    @Test("and is lost with a GET, makes it be sent again")
    func idempotent() async throws {
        let server = try SecondRequestServer { _ in usleep(Self.work) }
        #expect(try await bench.end(of: TransferRequest(url: server.server.url)) == .complete)
        #expect(try await bench.end(of: TransferRequest(url: server.server.url)) == .complete)
        #expect(server.requests == 3 && server.server.accepted == 2)
    }

    @Test("and was closed before the request arrived, is replaced unnoticed")
    func closedBefore() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        for _ in 0..<50 { #expect(try await bench.end(of: TransferRequest(url: server.url, body: [1])) == .complete) }
        #expect(server.accepted == 50)
    }

    @Test("a request on a new connection that is closed without an answer is told as unanswered")
    func unanswered() async throws {
        let server = try RawServer { connection in _ = connection.request() }
        guard case .failed(let failure) = try await bench.end(of: TransferRequest(url: server.url, body: [1])) else {
            return #expect(Bool(false), "not a failure")
        }
        #expect(failure.kind == .unanswered)
        #expect(server.accepted == 1)
    }

    @Test("is not kept for longer than the server names", arguments: [("timeout=0", 3), ("timeout=60", 1), ("max=5", 1)])
    func keepAlive(_ field: String, _ connections: Int) async throws {
        let server = try RawServer { connection in
            while connection.request() != nil {
                connection.write("HTTP/1.1 200 OK\r\nKeep-Alive: \(field)\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        for _ in 0..<3 { #expect(try await bench.end(of: TransferRequest(url: server.url, body: [1])) == .complete) }
        #expect(server.accepted == connections)
    }

    @Test("rests for less than the server names, and for two minutes at the most")
    func rest() {
        #expect(ConnectionPool.rest(within: nil) == .seconds(118))
        #expect(ConnectionPool.rest(within: .seconds(600)) == .seconds(118))
        #expect(ConnectionPool.rest(within: .seconds(5)) == .seconds(4))
        #expect(ConnectionPool.rest(within: .seconds(1)) == .milliseconds(500))
        #expect(ConnectionPool.rest(within: .zero) == .zero)
    }
}
