import Foundation
import Synchronization
import Testing

@testable import TokenRelay

@Suite("A request on a reused connection")
struct KeptConnectionTests {
    let bench: TransferBench

    init() throws { bench = try TransferBench() }

    /// A server that answers the first request of a connection and runs the test's closure for the second. Counts requests.
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

    /// Far longer than a lost connection takes to be detected: the server may have processed the request.
    private static let work: UInt32 = 200_000

    @Test("is not sent again when the server closes after holding it for a while", arguments: [false, true])
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

    @Test("is not sent again when the server reads it and closes at once")
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

    @Test("is sent again when it is a GET and the connection is lost")
    func idempotent() async throws {
        let server = try SecondRequestServer { _ in usleep(Self.work) }
        #expect(try await bench.end(of: TransferRequest(url: server.server.url)) == .complete)
        #expect(try await bench.end(of: TransferRequest(url: server.server.url)) == .complete)
        #expect(server.requests == 3 && server.server.accepted == 2)
    }

    @Test("is sent on a new connection when the server had closed before it arrived")
    func closedBefore() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        for _ in 0..<50 { #expect(try await bench.end(of: TransferRequest(url: server.url, body: [1])) == .complete) }
        #expect(server.accepted == 50)
    }

    @Test("fails with no_response on a new connection that is closed without a response")
    func unanswered() async throws {
        let server = try RawServer { connection in _ = connection.request() }
        guard case .failed(let failure) = try await bench.end(of: TransferRequest(url: server.url, body: [1])) else {
            return #expect(Bool(false), "not a failure")
        }
        #expect(failure.kind == .unanswered)
        #expect(server.accepted == 1)
    }

    @Test("is not sent on a connection past the server's idle limit", arguments: [("timeout=0", 3), ("timeout=60", 1), ("max=5", 1)])
    func keepAlive(_ field: String, _ connections: Int) async throws {
        let server = try RawServer { connection in
            while connection.request() != nil {
                connection.write("HTTP/1.1 200 OK\r\nKeep-Alive: \(field)\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        for _ in 0..<3 { #expect(try await bench.end(of: TransferRequest(url: server.url, body: [1])) == .complete) }
        #expect(server.accepted == connections)
    }

    @Test("the idle time of a connection is shorter than the server's limit, and at most two minutes")
    func rest() {
        #expect(ConnectionPool.rest(within: nil) == .seconds(118))
        #expect(ConnectionPool.rest(within: .seconds(600)) == .seconds(118))
        #expect(ConnectionPool.rest(within: .seconds(5)) == .seconds(4))
        #expect(ConnectionPool.rest(within: .seconds(1)) == .milliseconds(500))
        #expect(ConnectionPool.rest(within: .zero) == .zero)
    }
}
