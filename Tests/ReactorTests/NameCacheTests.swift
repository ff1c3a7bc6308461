import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Reactor

@Suite("NameCache")
struct NameCacheTests {
    @Test("a lookup that hangs delays no other name, and concurrent requests for a name share one lookup")
    func hangingResolver() async throws {
        try await withReactor { reactor in
            let release = DispatchSemaphore(value: 0)
            let lookups = Mutex<[String]>([])
            let names = ReactorBound(
                NameCache(reactor: reactor) { name in
                    lookups.withLock { $0.append(name) }
                    if name == "hanging.test" { release.wait() }
                    return .success([name])
                }, to: reactor)
            @Sendable func addresses(of name: String) async -> [String] {
                await withCheckedContinuation { continuation in
                    names.submit { $0.addresses(of: name) { continuation.resume(returning: $0.found) } }
                }
            }
            async let first = addresses(of: "hanging.test")
            async let second = addresses(of: "hanging.test")
            #expect(await addresses(of: "other.test") == ["other.test"])
            release.signal()
            #expect(await [first, second] == [["hanging.test"], ["hanging.test"]])
            #expect(lookups.withLock { $0.filter { $0 == "hanging.test" }.count } == 1)
        }
    }
    @Test("an expired answer is used while the fresh one is looked up")
    func stale() async throws {
        try await withReactor { reactor in
            let release = DispatchSemaphore(value: 0)
            let lookups = Atomic(0)
            var limits = NameCache.limits
            limits.freshness = .zero
            let names = ReactorBound(
                NameCache(reactor: reactor, limits: limits) { _ in
                    let number = lookups.add(1, ordering: .relaxed).newValue
                    if number > 1 { release.wait() }
                    return .success(["\(number)"])
                }, to: reactor)
            @Sendable func addresses() async -> [String] {
                await withCheckedContinuation { continuation in
                    names.submit { $0.addresses(of: "provider.test") { continuation.resume(returning: $0.found) } }
                }
            }
            #expect(await addresses() == ["1"])
            // The second lookup does not return before `release`.
            for _ in 0..<3 { #expect(await addresses() == ["1"]) }
            try await eventually { lookups.load(ordering: .relaxed) == 2 }
            release.signal()
            try await eventually { await addresses() == ["2"] }
            // The lookup that the last request started.
            release.signal()
        }
    }
}
