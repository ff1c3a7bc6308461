import Testing

@testable import PostgresClient

@Suite struct StatementCacheTests {
    private var cache = StatementCache(capacity: 2)

    private func key(_ sql: String, _ types: [UInt32] = []) -> StatementCache.Key {
        StatementCache.Key(sql: sql, parameterTypes: types)
    }

    @Test("the first use prepares, later ones execute")
    mutating func uses() {
        #expect(cache.use(key("a")) == .prepare(name: "s1", evicted: nil))
        #expect(cache.use(key("a")) == .execute(name: "s1"))
    }

    @Test("one text with other parameter types is another statement")
    mutating func types() {
        _ = cache.use(key("a"))
        #expect(cache.use(key("a", [17])) == .prepare(name: "s2", evicted: nil))
    }

    @Test("a full cache evicts the least recently used statement")
    mutating func eviction() {
        _ = cache.use(key("a"))
        _ = cache.use(key("b"))
        _ = cache.use(key("a"))
        #expect(cache.use(key("c")) == .prepare(name: "s3", evicted: "s2"))
        #expect(cache.use(key("a")) == .execute(name: "s1"))
        #expect(cache.count == 2)
    }

    @Test("a forgotten statement is prepared again, under another name")
    mutating func forget() {
        _ = cache.use(key("a"))
        #expect(cache.forget(name: "s1") == true)
        #expect(cache.forget(name: "s1") == false)
        #expect(cache.use(key("a")) == .prepare(name: "s2", evicted: nil))
    }
}
