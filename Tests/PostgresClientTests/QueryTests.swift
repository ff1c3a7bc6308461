import Foundation
import PostgresClient
import Testing

@Suite struct QueryTests {
    @Test("values become parameters and never SQL")
    func parameters() {
        let evil = "'; drop table users; --"
        let query: Query = "select * from t where a = \(evil) and b = \(5)"
        #expect(query.sql == "select * from t where a = $1 and b = $2")
        #expect(query.parameters == [.text(evil), .text("5")])
    }

    @Test("fragments are joined and their parameters renumbered")
    func fragments() {
        let condition: Query = "and b = \(2)"
        var query: Query = "select \(1) \(condition) and c = \(3)"
        query.append(" limit \(4)")
        #expect(query.sql == "select $1 and b = $2 and c = $3 limit $4")
        #expect(query.parameters == [.text("1"), .text("2"), .text("3"), .text("4")])
    }

    @Test("identifiers are quoted")
    func identifiers() {
        let query: Query = "select \(identifier: "we\"ird")"
        #expect(query.sql == "select \"we\"\"ird\"")
        #expect(query.parameters.isEmpty)
    }

    @Test("nil is NULL, also in arrays")
    func null() {
        let number: Int? = nil
        let query: Query = "select \(number), \([1, nil])"
        #expect(query.parameters == [.null, .text("{\"1\",NULL}")])
    }

    @Test("an error's description has no values, though its message does")
    func errorDescription() async throws {
        try await withClient { client, database in
            try await database.psql("create table t (email text primary key)")
            try await client.execute("insert into t values (\("canary@example.org"))")
            let error = await postgresError { try await client.execute("insert into t values (\("canary@example.org"))") }
            #expect(error.map { "\($0)" } == "server 23505 on constraint t_pkey")
            let cast = await postgresError { try await client.execute("select \("canary")::int") }
            #expect(cast?.message.contains("canary") == true)
            #expect(cast.map { String(reflecting: $0) } == "server 22P02")
            var dumped = ""
            dump(cast, to: &dumped)
            #expect(!dumped.contains("canary"))
            let syntax = await postgresError { try await client.execute("selct") }
            #expect(syntax.map { "\($0)" } == "server 42601: syntax error at or near \"selct\"")
        }
    }

    @Test("U+0000 in a text is refused before it is sent")
    func zero() async throws {
        try await withClient { client, _ in
            #expect(await postgresError { try await client.execute("select \("a\u{0}b")::text") }?.kind == .protocolViolation)
        }
    }
}
