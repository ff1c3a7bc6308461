import Foundation
import TestSupport

/// A migrated and seeded database, with queries for tests.
final class Database: Sendable {
    let fresh: FreshDatabase
    /// The superuser's URL.
    var ownerURL: String { fresh.url }
    /// The URL of role `coach_gateway`.
    let gatewayURL: String

    /// The password that `migrate` sets for `coach_gateway`. The same in all tests, because roles belong to the cluster.
    static let password = "end-to-end-password"

    /// On the server that the tests share.
    static func ofItsOwn() async throws -> Database { try await Database(prepared: template.copy()) }

    private static let template = DatabaseTemplate { try await prepare($0) }

    /// Migrates and seeds an empty database.
    convenience init(_ fresh: FreshDatabase) async throws {
        try await Self.prepare(fresh)
        try self.init(prepared: fresh)
    }

    private init(prepared fresh: FreshDatabase) throws {
        self.fresh = fresh
        guard var parts = URLComponents(string: fresh.url) else { throw Program.Failure(description: "not a URL: the database's") }
        parts.user = "coach_gateway"
        parts.password = Self.password
        gatewayURL = parts.string ?? fresh.url
        if let server = ProcessInfo.processInfo.environment["COACH_TEST_DATABASE_URL"], !server.isEmpty {
            ProcessCleanup.runAtEnd("psql -X -q -d '\(server)' -c 'drop database if exists \(fresh.name) with (force)'")
        }
    }

    private static func prepare(_ fresh: FreshDatabase) async throws {
        let environment = ["COACH_MIGRATION_URL": fresh.url, "COACH_DATABASE_PASSWORD": Self.password]
        try await Program.succeed(["migrate"], environment: environment)
        try await Program.succeed(["seed"], environment: environment)
    }

    /// The rows of a query, each as a JSON object.
    func rows(_ sql: String) async throws -> [JSONObject] {
        try await fresh.query("select to_jsonb(answer) from (\(sql)) as answer").map { JSONObject($0) }
    }

    /// The only row of a query.
    func row(_ sql: String) async throws -> JSONObject {
        let rows = try await rows(sql)
        guard let row = rows.first, rows.count == 1 else { throw Program.Failure(description: "\(rows.count) rows, not one: \(sql)") }
        return row
    }

    /// Inserts a published persona and returns its id.
    func listedPersona() async throws -> String {
        let (persona, creator) = (UUID().uuidString.lowercased(), "00000000-0000-4000-8000-000000000001")
        try await fresh.psql(
            """
            insert into coaching_personas (id, user_id, name, tone) values ('\(persona)', '\(creator)', 'Ada', to_jsonb('calm'::text));
            select gateway.publish_persona('\(creator)', '\(persona)', 'listed')
            """)
        return persona
    }

    /// Waits for the latest alert of a rule to fire, or to be resolved. In one statement: that takes seconds, in which polls would take a processor.
    func wait(forAlert rule: String, isFiring: Bool) async throws {
        try await fresh.psql(
            """
            do $$ begin
                for n in 1..600 loop
                    if (select a.resolved_at is null from gateway.alerts a where a.rule = '\(rule)' order by a.id desc limit 1) = \(isFiring) then
                        return;
                    end if;
                    perform pg_sleep(0.1);
                end loop;
                raise exception 'waited in vain for the alert \(rule), firing: \(isFiring)';
            end $$
            """)
    }

    func turn(of user: String) async throws -> JSONObject { try await row("select * from turns where user_id = '\(user)'") }

    /// Stores a danger level of the user with a persona that no test uses.
    func endanger(_ user: String, level: Int = 1) async throws {
        try await fresh.psql(
            """
            insert into users (id) values ('\(user)') on conflict do nothing;
            insert into safety_states (user_id, persona_id, level, raised_at) values ('\(user)', gen_random_uuid(), \(level), now())
            """)
    }

    /// A user's messages with one role, in order.
    func messages(of user: String, role: String) async throws -> [JSONObject] {
        try await rows("select * from messages where user_id = '\(user)' and role = '\(role)' order by created_at, seq")
    }

    func usage(of user: String) async throws -> [JSONObject] {
        // Costs as text, because a JSON number would lose digits.
        try await rows("select *, cost_usd::text as cost from model_calls where user_id = '\(user)' order by attempt")
    }
}
