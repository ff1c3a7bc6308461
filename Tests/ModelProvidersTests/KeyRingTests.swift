import Foundation
import TestSupport
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("Keys of a provider")
struct KeyRingTests {
    let start = MonotonicInstant.now

    @Test("a key that met a rate limit has a cooldown; when all have one, the key whose cooldown ends first is used")
    func cooldowns() {
        var ring = KeyRing(["a", "b"])
        #expect(ring.key(at: start) == "a")
        #expect(ring.coolDown("a", until: start + .seconds(60), isRefused: false, at: start) == true)
        #expect(ring.key(at: start) == "b")
        #expect(ring.coolDown("b", until: start + .seconds(30), isRefused: false, at: start) == false)
        #expect(ring.key(at: start) == "b" && !ring.areRefused(at: start))
        #expect(ring.key(at: start + .seconds(60)) == "a")
        var single = KeyRing(["a"])
        #expect(single.coolDown("a", until: start, isRefused: false, at: start) == false)
        #expect(KeyRing([]).key(at: start) == nil && !KeyRing([]).areRefused(at: start))
    }

    @Test("a refused key is not used before the end of its cooldown, even when no other key is left; a new key is used at once")
    func refused() {
        var ring = KeyRing(["a", "b"])
        _ = ring.coolDown("a", until: start + .seconds(60), isRefused: true, at: start)
        _ = ring.coolDown("b", until: start + .seconds(90), isRefused: false, at: start)
        #expect(ring.key(at: start) == "b" && !ring.areRefused(at: start))
        _ = ring.coolDown("b", until: start + .seconds(60), isRefused: true, at: start)
        #expect(ring.key(at: start) == nil && ring.areRefused(at: start))
        #expect(ring.key(at: start + .seconds(60)) == "a" && !ring.areRefused(at: start + .seconds(60)))
        // A rate limit of a request that was sent before the refusal.
        _ = ring.coolDown("b", until: start + .seconds(1), isRefused: false, at: start)
        #expect(ring.key(at: start + .seconds(1)) == nil)
        _ = ring.replace(with: ["a", "c"])
        #expect(ring.key(at: start) == "c" && !ring.areRefused(at: start))
    }

    @Test("the first key that is ready again is known")
    func firstReady() {
        var ring = KeyRing(["a", "b"])
        #expect(ring.firstReady(at: start) == start && KeyRing([]).firstReady(at: start) == nil)
        _ = ring.coolDown("a", until: start + .seconds(60), isRefused: true, at: start)
        #expect(ring.firstReady(at: start) == start)
        _ = ring.coolDown("b", until: start + .seconds(30), isRefused: false, at: start)
        #expect(ring.firstReady(at: start) == start + .seconds(30))
        #expect(ring.firstReady(at: start + .seconds(90)) == start + .seconds(90))
    }

    @Test("new keys replace the old ones; those that stay keep their cooldown")
    func replaced() {
        var ring = KeyRing(["a", "b"])
        _ = ring.coolDown("a", until: start + .seconds(60), isRefused: true, at: start)
        #expect(ring.replace(with: ["a", "b"]) == false)
        #expect(ring.replace(with: ["a", "c"]) == true)
        #expect(ring.key(at: start) == "c")
    }

    @Test("a file has one key a line, is read again when it changes, and keeps its keys when it is of no use")
    func file() throws {
        let path = NSTemporaryDirectory() + "/keys-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
        let file = """
            {"providers": {"p": {"dialect": "anthropic", "base_url": "https://p.test", "api_key_file": "\(path)"}},
             "routes": {"default": [{"provider": "p", "model": "m", "max_output_tokens": 5}]}}
            """
        #expect(
            ModelConfiguration.read(Data(file.utf8), environment: [:]).findings
                == ["models: routes.default has no provider that can be used; set \(path)"])
        let other = """
            {"providers": {"p": {"dialect": "anthropic", "base_url": "https://p.test", "api_key_file": "\(path)"},
                           "q": {"dialect": "openai", "base_url": "https://q.test"}},
             "routes": {"default": [{"provider": "p", "model": "m"}, {"provider": "q", "model": "m"}]}}
            """
        func warnings() -> [String]? { ModelConfiguration.read(Data(other.utf8), environment: [:]).configuration?.warnings }
        #expect(
            warnings() == [
                "models: providers.p.api_key_file: \(path) cannot be read, or has no key that can be sent, so it is not used"
            ])
        try write("# rotated in May\n sk-one \n\nsk-two\n")
        let configuration = try #require(ModelConfiguration.read(Data(file.utf8), environment: [:]).configuration)
        #expect(warnings() == [])
        let keys = ProviderKeys(of: configuration, environment: [:])
        #expect(keys.key(of: "p", at: start) == "sk-one")
        #expect(keys.reload() == ([], []))
        try write("sk-three")
        #expect(keys.reload() == (["p"], []))
        #expect(keys.key(of: "p", at: start) == "sk-three")
        try write("two words")
        #expect(keys.reload() == ([], ["p"]))
        #expect(keys.key(of: "p", at: start) == "sk-three")
    }
}
