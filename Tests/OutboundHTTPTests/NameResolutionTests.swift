import Foundation
import HTTPTestServers
import OutboundHTTP
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite("Name resolution")
struct NameResolutionTests {
    let origin: TestServer

    init() throws { origin = try TestServer("origin") }

    @Test("a lookup that hangs ends with connect_timeout, and delays no other request")
    func hanging() async throws {
        let release = DispatchSemaphore(value: 0)
        defer { release.signal() }
        let client = try OutboundHTTPClient { name in
            if name == "hanging.test" { release.wait() }
            return .success(["127.0.0.1"])
        }
        let hanging = Task { [origin] in
            try await client.error(
                of: OutboundRequest(url: origin.url("/hello", host: "hanging.test")).limited(connect: .milliseconds(300)))
        }
        #expect(try await client.send(OutboundRequest(url: origin.url("/hello", host: "other.test"))).status == 200)
        #expect(try await hanging.value.code == .connectTimeout)
    }

    @Test("a request that waits for a lookup is cancelled at once")
    func cancelled() async throws {
        let release = DispatchSemaphore(value: 0)
        defer { release.signal() }
        let isAsked = Mutex(false)
        let client = try OutboundHTTPClient { _ in
            isAsked.withLock { $0 = true }
            release.wait()
            return .success(["127.0.0.1"])
        }
        let task = Task { [origin] in try await client.error(of: OutboundRequest(url: origin.url("/hello", host: "hanging.test"))) }
        try await eventually { isAsked.withLock(\.self) }
        task.cancel()
        #expect(try await task.value.code == .cancelled)
    }

    @Test("concurrent requests share one lookup, later ones use its answer, and a failure is looked up again")
    func cached() async throws {
        let asked = Mutex<[String]>([])
        let client = try OutboundHTTPClient { name in
            let isFirst = asked.withLock { asked in
                asked.append(name)
                return asked.count == 1
            }
            return isFirst ? .failure(NameLookup.Failure(code: -2)) : .success(["127.0.0.1"])
        }
        let request = OutboundRequest(url: origin.url("/hello", host: "a.test"))
        let error = try await client.error(of: request)
        #expect(error.code == .resolve && error.cause == .resolver(-2))
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<10 { group.addTask { try await client.send(request).status } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(try await client.send(request).status == 200)
        #expect(asked.withLock(\.self) == ["a.test", "a.test"])
    }

    @Test("the first address that accepts the connection is used")
    func addresses() async throws {
        let client = try OutboundHTTPClient { _ in .success(["::1", "127.0.0.1"]) }
        #expect(try await client.send(OutboundRequest(url: origin.url("/hello", host: "a.test"))).status == 200)
    }
}
