import Foundation
import HTTPTestServers
import OutboundHTTP
import Reactor
import Synchronization
import TestSupport
import Testing

extension OutboundHTTPClient {
    /// The error of a request that must fail.
    func error(of request: OutboundRequest, sourceLocation: SourceLocation = #_sourceLocation) async throws -> OutboundError {
        do throws(OutboundError) {
            let response = try await send(request)
            Issue.record("status \(response.status)", sourceLocation: sourceLocation)
            throw OutboundError(.other, "no error")
        } catch {
            return error
        }
    }

    func decoded<Value: Decodable>(_ request: OutboundRequest, as type: Value.Type = Value.self) async throws -> Value {
        try JSONDecoder().decode(type, from: Data(try await send(request).body))
    }

    func journal(of origin: TestServer) async throws -> OriginJournal { try await decoded(.init(url: origin.url("/journal"))) }

    func proxyJournal(of proxy: TestServer) async throws -> ProxyJournal { try await decoded(.init(url: proxy.url("/journal"))) }
}

extension OutboundConfiguration {
    init(_ change: (inout OutboundConfiguration) -> Void) {
        self.init()
        change(&self)
    }
}

extension OutboundRequest {
    /// A request to a server with a certificate of `TestAuthority`.
    static func secure(_ url: String, version: HTTPVersion = .http1) -> OutboundRequest {
        var request = OutboundRequest(url: url)
        request.authorityFile = TestAuthority.authority
        request.version = version
        request.limits.connect = .seconds(20)
        return request
    }

    /// The same request with other limits.
    func limited(connect: Duration = .seconds(20), total: Duration? = .seconds(30), responseBytes: Int = 1 << 20) -> OutboundRequest {
        var request = self
        request.limits = OutboundLimits(connect: connect, total: total, responseBytes: responseBytes)
        return request
    }
}

/// Records what a transfer reported.
final class TransferRecorder: Sendable {
    struct Record {
        var heads: [OutboundResponseHead] = []
        var body: [UInt8] = []
        var ends: [OutboundError?] = []
        var reportedAfterEnd = false
    }
    private let record = Mutex(Record())
    /// The result of the `bytes` handler from now on.
    let demand = Mutex(ReceiveDemand.more)

    var handlers: OutboundHandlers {
        OutboundHandlers(
            head: { head in self.change { $0.heads.append(head) } },
            bytes: { bytes in
                self.change { $0.body += bytes }
                return self.demand.withLock(\.self)
            },
            end: { error in self.record.withLock { $0.ends.append(error) } })
    }

    var now: Record { record.withLock { $0 } }

    private func change(_ body: (inout Record) -> Void) {
        record.withLock { record in
            if !record.ends.isEmpty { record.reportedAfterEnd = true }
            body(&record)
        }
    }

    /// Waits for the end; checks that it came once and last.
    func end(sourceLocation: SourceLocation = #_sourceLocation) async throws -> OutboundError? {
        try await eventually { !self.now.ends.isEmpty }
        let record = now
        #expect(record.ends.count == 1 && !record.reportedAfterEnd && record.heads.count <= 1, sourceLocation: sourceLocation)
        return try #require(record.ends.first)
    }
}

/// The system's monotonic clock, so that times can be compared with other processes'.
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
