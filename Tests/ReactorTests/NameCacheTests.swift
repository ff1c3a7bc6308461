import Dispatch
import Reactor
import Synchronization
import Testing

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
}
