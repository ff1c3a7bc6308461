import Foundation
import PostgresClient
import Testing

@Suite("Search paths of functions")
struct SearchPathTests {
    /// Functions that look names up by their caller's search path: those without one of their own, and those whose parsed body calls such a one.
    private static let dependent = """
        with recursive ours as (
            select p.oid, format('%s.%s', n.nspname, p.proname) as name, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) as source,
                p.prosqlbody is not null as is_parsed, coalesce(p.proconfig @> array['search_path=""'], false) as has_own
            from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname in ('public', 'gateway', 'operator') and p.prokind = 'f'
                and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
        ), dependent as (
            select o.* from ours o where not o.is_parsed and not o.has_own
            union
            select o.* from ours o join dependent d on o.is_parsed and not o.has_own and o.source ~ ('\\m' || d.name || '\\(')
        )
        """

    private func names(_ query: String) async throws -> Set<String> {
        try await AccessGround.on(.plain).names(Query(unsafeSQL: Self.dependent + query))
    }

    @Test("one without a path of its own is called only by functions that have one, never by a policy, a trigger, a view or a default")
    func callers() async throws {
        #expect(try await names("select name from dependent").count >= FunctionExpectation.nested.count)
        let wrong = try await names(
            """
            select o.name || ' calls ' || d.name from ours o join dependent d on o.source ~ ('\\m' || d.name || '\\(')
            where not o.has_own and not exists (select from dependent c where c.oid = o.oid)
            union
            select d.name || ' in ' || pg_describe_object(p.classid, p.objid, p.objsubid)
            from dependent d join pg_depend p on p.refclassid = 'pg_proc'::regclass and p.refobjid = d.oid
            where p.classid <> 'pg_proc'::regclass
            """)
        #expect(wrong == [])
    }

    @Test("the gateway's statements call none of them")
    func statements() async throws {
        let dependent = try await names("select name from dependent")
        let root = (1...4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let folder = root.appending(path: "Sources/CoachStore")
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        let files = paths.filter { $0.hasSuffix(".swift") }
        #expect(files.count > 50)
        for file in files {
            let source = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            let called = Set(source.matches(of: /(gateway|operator)\.\w+(?=\()/).map { String($0.0) })
            #expect(called.isDisjoint(with: dependent), "\(file)")
        }
    }
}
