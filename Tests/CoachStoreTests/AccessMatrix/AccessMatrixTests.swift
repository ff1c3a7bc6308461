import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

/// Tries every statement on every table and every function as every actor, on a plain database and on one set up like Supabase's.
@Suite("Access matrix of the database")
struct AccessMatrixTests {
    enum Server: String, CaseIterable, Sendable {
        case plain, supabase
    }

    @Test("every table permits each actor what the matrix lists and nothing else", arguments: Server.allCases)
    func tables(server: Server) async throws {
        let ground = try await AccessGround.on(server)
        let names = try await ground.names(
            """
            select format('%s.%s', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname in ('public', 'gateway', 'operator') and c.relkind in ('r', 'p', 'v', 'm', 'f')
            """)
        #expect(names == Set(TableExpectation.every.map(\.name)))

        for table in TableExpectation.every {
            for actor in Actor.allCases {
                var found = ""
                for verb in Verb.allCases {
                    found.append(try await ground.isAllowed(verb, on: table, for: actor) ? verb.rawValue : ".")
                }
                #expect(found == table.allowed[actor, default: "...."], "\(table.name) for \(actor) on \(server)")
            }
        }
    }

    @Test("users may write the columns that the matrix lists and no others", arguments: Server.allCases)
    func columns(server: Server) async throws {
        let ground = try await AccessGround.on(server)
        for table in TableExpectation.every {
            for (verb, expected) in [("INSERT", table.insertable), ("UPDATE", table.updatable)] {
                let columns = try await ground.names(
                    """
                    select attname::text from pg_attribute
                    where attrelid = \(table.name)::regclass and attnum > 0 and not attisdropped
                        and has_column_privilege('authenticated', attrelid, attnum, \(verb))
                    """)
                #expect(columns == expected, "\(verb) on \(table.name)")
            }
        }
    }

    @Test("of the tables that users read they read all columns, but for those of which the matrix lists some", arguments: Server.allCases)
    func readableColumns(server: Server) async throws {
        let ground = try await AccessGround.on(server)
        for table in TableExpectation.every {
            let columns: (String) -> Query = { condition in
                """
                select attname::text from pg_attribute
                where attrelid = \(table.name)::regclass and attnum > 0 and not attisdropped
                    and (has_column_privilege('authenticated', attrelid, attnum, 'SELECT') or \(condition) = 'every')
                """
            }
            let readable = try await ground.names(columns("readable"))
            guard !readable.isEmpty else { continue }
            let every = try await ground.names(columns("every"))
            #expect(readable == table.readable ?? every, "\(table.name)")
        }
    }

    @Test("every table has row-level security, and every policy is limited to roles", arguments: Server.allCases)
    func rowSecurity(server: Server) async throws {
        let ground = try await AccessGround.on(server)
        #expect(
            try await ground.names(
                """
                select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
                where n.nspname in ('public', 'gateway') and c.relkind in ('r', 'p') and not c.relrowsecurity
                """) == [])
        #expect(
            try await ground.names(
                "select policyname::text from pg_policies where schemaname in ('public', 'gateway') and roles && array['public', 'anon']::name[]"
            )
                == [])
        #expect(
            try await ground.names(
                "select attname::text from pg_attribute where attrelid = 'public.published_personas'::regclass and attnum > 0")
                == ["id", "slug", "name", "description", "domain", "starters", "languages", "version", "published_at"])
    }

    @Test("users can execute no function, each sets its search path, and only listed ones are security definer", arguments: Server.allCases)
    func functions(server: Server) async throws {
        let ground = try await AccessGround.on(server)
        let ours: Query = """
            from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname in ('public', 'gateway', 'operator') and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
            """
        let signature: Query = """
            format('%s.%s(%s)', n.nspname, p.proname, (
                select string_agg(format_type(t.type, null), ', ' order by t.place) from unnest(p.proargtypes) with ordinality t (type, place)))
            """
        // With the schema, independent of the search path.
        let qualified: Query = """
            regexp_replace(\(signature), '(?<![.\\w])(rate_limits|turns|coaching_domain|finalizer|consent_kind|usage_purpose|conversation_source|persona_versions)', 'public.\\1', 'g')
            """
        #expect(
            try await ground.names("select \(qualified) \(ours)")
                == FunctionExpectation.forGateway.union(FunctionExpectation.forNobody).union(FunctionExpectation.procedures))
        #expect(
            try await ground.names("select \(qualified) \(ours) and has_function_privilege('coach_gateway', p.oid, 'execute')")
                == FunctionExpectation.forGateway)
        for role in ["public", "anon", "authenticated"] {
            #expect(try await ground.names("select \(qualified) \(ours) and has_function_privilege(\(role), p.oid, 'execute')") == [])
        }
        // One with its owner's rights would look names up in schemas of its caller's choice.
        #expect(
            try await ground.names(
                "select \(qualified) \(ours) and p.prosecdef and not coalesce(p.proconfig @> array['search_path=\"\"'], false)") == [])
        // An SQL body that is parsed at creation does no name lookup when it runs, and neither does an aggregate.
        #expect(
            try await ground.names(
                """
                select \(qualified) \(ours) and p.prokind <> 'a'
                    and (p.prosecdef or (p.prosqlbody is null and not coalesce(p.proconfig @> array['search_path=""'], false)))
                """) == FunctionExpectation.nested.union(FunctionExpectation.withOwnersRights).union(FunctionExpectation.procedures))
    }

    @Test("every function rejects all roles but the gateway's", arguments: Server.allCases)
    func calls(server: Server) async throws {
        let ground = try await AccessGround.on(server)
        for function in FunctionExpectation.forGateway.union(FunctionExpectation.forNobody).union(FunctionExpectation.procedures) {
            let (name, arguments) = Self.parts(of: function)
            let verb = FunctionExpectation.procedures.contains(function) ? "call" : "select"
            let call = "\(verb) \(name)(" + arguments.map { "null::\($0)" }.joined(separator: ", ") + ")"
            for actor in Actor.allCases where actor.role != "coach_gateway" {
                let answer = try await ground.attempt(call, as: actor)
                #expect(answer == .denied, "\(function) for \(actor) on \(server)")
            }
        }
    }

    @Test("a user cannot switch to another role or to the gateway's")
    func roles() async throws {
        let ground = try await AccessGround.on(.plain)
        for role in ["coach_gateway", "postgres"] {
            // As PostgREST's login role, which may switch only to the roles that were granted to it.
            #expect(
                try await ground.names(
                    "select 'yes' where pg_has_role('authenticated', \(role), 'member') or pg_has_role('anon', \(role), 'member')")
                    == [])
        }
        #expect(
            try await ground.names(
                "select rolname::text from pg_roles where rolname = 'coach_gateway' and (rolbypassrls or rolsuper or rolinherit)")
                == [])
    }

    private static func parts(of signature: String) -> (name: Substring, arguments: [Substring]) {
        let parts = signature.dropLast().split(separator: "(", maxSplits: 1)
        guard parts.count == 2 else { return (parts[0], []) }
        return (parts[0], parts[1].split(separator: ",").map { $0.drop(while: { $0 == " " }) })
    }
}
