import CoachCore
import CoachStore
import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite("Connections of users' statements")
struct AffinityTests {
    /// Behind a pooler a connection is not a server process.
    private static let isPooled = ProcessInfo.processInfo.environment["COACH_TEST_POOLER"] == "1"

    @Test("a user's statements keep to one shared connection, and those of many users use all", .enabled(if: !isPooled))
    func oneConnection() async throws {
        let store = try await StoreFixture()
        try await store.database.psql(
            """
            create table public.writers (user_id uuid, pid integer);
            create function public.note_writer() returns trigger language plpgsql security definer as $$
            begin
                insert into public.writers values (new.user_id, pg_backend_pid());
                return null;
            end $$;
            """)
        for table in ["conversations", "messages", "turns"] {
            try await store.database.psql(
                "create trigger note after insert or update on public.\(table) for each row execute function public.note_writer()")
        }
        let callers = (0..<20).map { _ in Caller.someone() }
        for caller in callers { _ = try await store.requests().take(caller) }
        // Until its own connection is open an affinity uses the next one.
        try await eventually {
            try await store.count(
                "select count(*) from pg_stat_activity where datname = current_database() and usename = 'coach_gateway'") == 2
        }
        let turns = store.turns()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in callers {
                for number in 0..<3 {
                    group.addTask { _ = try await turns.talk(caller, "Hello \(number)") }
                    group.addTask { _ = try await store.conversations.create(caller, ConversationDraft()) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.count("select count(distinct user_id) from public.writers") == callers.count)
        #expect(try await store.count("select count(distinct (user_id, pid)) from public.writers") == callers.count)
        #expect(try await store.count("select count(distinct pid) from public.writers") == 2)
    }
}
