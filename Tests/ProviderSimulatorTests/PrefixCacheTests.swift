import Testing

@testable import ProviderSimulator

@Suite("PrefixCache")
struct PrefixCacheTests {
    private func text(_ words: Int, _ seed: String = "") -> String {
        (0..<words).map { "\(seed)w\($0 % 97)" }.joined(separator: " ")
    }

    @Test("without marks the longest common prefix counts, in steps of 128 tokens from 1,024 on, for the same model")
    func steps() {
        let cache = PrefixCache()
        func read(_ texts: [String], model: String = "sim-a") -> Int {
            let (read, written) = cache.look(up: ChatRequest(model: model, turns: texts.map { .init(role: "user", text: $0) }))
            #expect(written == 0)
            return read
        }
        let stable = text(2_000)
        #expect(read([stable, "one"]) == 0)
        let shared = read([stable, "two"])
        #expect(shared >= 1_024 && shared % 128 == 0 && shared <= Tokenizer.count(stable) + 6)
        #expect(read([stable, "two"], model: "sim-b") == 0)
        #expect(read([text(2_000, "x"), "one"]) == 0)
        #expect(read([text(500), "one"]) == 0 && read([text(500), "one"]) == 0, "too short")
    }

    @Test("with marks what they end is written once and read later")
    func marks() {
        let cache = PrefixCache()
        let stable = ChatRequest.Turn(role: "system", text: text(2_000), isCacheMark: true)
        func look(_ turns: [ChatRequest.Turn]) -> (read: Int, written: Int) {
            var request = ChatRequest(model: "sim", turns: turns)
            request.hasCacheMarks = true
            return cache.look(up: request)
        }
        let first = look([stable, .init(role: "user", text: "hello", isCacheMark: true)])
        #expect(first.read == 0 && first.written > 2_000)
        let other = look([stable, .init(role: "user", text: "bye", isCacheMark: true)])
        #expect(other.read > 2_000 && other.read < first.written && other.written > 0)
        let next = look([
            stable, .init(role: "user", text: "hello", isCacheMark: false), .init(role: "assistant", text: "hi"),
            .init(role: "user", text: "and now?", isCacheMark: true),
        ])
        #expect(next.read == first.written && next.written > 0)
        #expect(look([.init(role: "system", text: text(2_000)), .init(role: "user", text: "unmarked")]) == (0, 0))
    }
}
