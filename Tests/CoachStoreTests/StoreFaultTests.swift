import CoachCore
import Testing

@testable import CoachStore
@testable import PostgresClient

@Suite("StoreFault")
struct StoreFaultTests {
    @Test("the log says why the database is unavailable, and quotes no values")
    func descriptions() {
        let timeout = PostgresError(.server, "canceling statement due to statement timeout", sqlState: "57014")
        #expect(
            StoreFault(timeout).description == "the database is unavailable: server 57014: canceling statement due to statement timeout")
        let lost = PostgresError(.unavailable, "the connection was lost")
        #expect(StoreFault(lost).description == "the database is unavailable: unavailable: the connection was lost")
        let deadlock = PostgresError(.server, "deadlock detected", sqlState: "40P01")
        #expect(StoreFault(deadlock).description == "the database is unavailable: server 40P01")
        let duplicate = PostgresError(.server, "a secret", sqlState: "23505", constraint: "users_pkey")
        #expect(StoreFault(duplicate).description == "unexpected: server 23505 on constraint users_pkey")
    }
}
