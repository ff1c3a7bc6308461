import Glibc
import Synchronization
import TestSupport
import Testing

@testable import TokenRelay

@Suite("Idle connections")
struct IdleConnectionTests {
    private static let transfers = 8

    /// Answers when all requests of a round have arrived, so that each of them has a connection of its own.
    private final class Rounds: Sendable {
        private let arrived = Atomic(0)

        func answer(_ connection: RawConnection) {
            while connection.request() != nil {
                let number = arrived.add(1, ordering: .relaxed).newValue
                let last = (number + IdleConnectionTests.transfers - 1) / IdleConnectionTests.transfers * IdleConnectionTests.transfers
                while arrived.load(ordering: .relaxed) < last { usleep(1_000) }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    @Test("as many are kept as configured, and the next transfers use them", arguments: [8, 5])
    func kept(idle: Int) async throws {
        let bench = try TransferBench(.direct, TransferConfiguration(idleConnections: idle))
        let rounds = Rounds()
        let server = try RawServer { rounds.answer($0) }
        for opened in [Self.transfers, 2 * Self.transfers - idle] {
            let recorders = (0..<Self.transfers).map { _ in bench.start(TransferRequest(url: server.url)).recorder }
            for recorder in recorders { #expect(try await recorder.end() == .complete) }
            #expect(server.accepted == opened)
        }
    }
}
