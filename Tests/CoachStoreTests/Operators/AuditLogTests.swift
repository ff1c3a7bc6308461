import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Testing

@Suite("The audit log")
struct AuditLogTests {
    private static func edits(_ count: Int, in store: StoreFixture) async throws {
        let documents = VersionedDocuments.postgres(client: store.gateway)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    let edit = DocumentEdit(
                        name: DocumentName(kind: .limits, id: "d\(number)"), expectedVersion: 1, content: .body(.integer(Int64(number))),
                        reason: "because \(number)", requestID: "request-\(number)")
                    _ = try await documents.put(.someone(role: .operator), edit)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("entries of concurrent changes form one chain without gaps, with actor and action")
    func chain() async throws {
        let store = try await StoreFixture()
        let log = AuditLog.postgres(client: store.gateway)
        #expect(try await log.verify() == AuditChain(entries: 0, brokenAt: nil, head: nil))
        try await Self.edits(20, in: store)
        let entries = try await log.entries(.someone(role: .operator), nil, 100)
        #expect(entries.map(\.sequence) == (1...20).reversed())
        #expect(try await log.verify() == AuditChain(entries: 20, brokenAt: nil, head: entries[0].hash))
        let entry = entries[7]
        #expect(entry.action == "document.put" && entry.actorRole == "operator" && entry.actor != nil)
        #expect(entry.beforeVersion == 1 && entry.afterVersion == 2)
        #expect(entry.target == "limits/d" + (entry.reason ?? "").dropFirst("because ".count))
        #expect(abs(entry.createdAt.timeIntervalSinceNow) < 60)
        #expect(try await log.entries(.someone(role: .operator), 19, 2).map(\.sequence) == [18, 17])
        for role in [nil, Role.creator] {
            await #expect(throws: NotAllowed()) { try await log.entries(.someone(role: role), nil, 1) }
        }
    }

    @Test("a change that is rolled back leaves no entry")
    func sameTransaction() async throws {
        let store = try await StoreFixture()
        let caller = Caller.someone(role: .operator)
        try await store.gateway.withConnection { lease in
            try await lease.execute("begin")
            try await lease.execute(
                """
                select set_config('request.jwt.claims', \(caller.claims), true), \
                set_config('request.jwt.claim.sub', \(caller.userID.description), true)
                """)
            try await lease.execute("select operator.put_document('limits', 'default', 1, '{}', null, null)")
            try await lease.execute("rollback")
        }
        #expect(try await AuditLog.postgres(client: store.gateway).verify().entries == 0)
        #expect(try await store.count("select count(*) from gateway.document_versions") == 0)
    }

    @Test(
        "the tables' owner cannot change the log, and a change by a superuser is detected",
        arguments: [
            ("update gateway.audit_log set action = 'user.suspend' where sequence = 3", 3),
            ("update gateway.audit_log set created_at = created_at + interval '1 microsecond' where sequence = 2", 2),
            ("update gateway.audit_log set actor_id = null where sequence = 5", 5),
            ("delete from gateway.audit_log where sequence = 4", 5),
            ("delete from gateway.audit_log where sequence = 1", 2),
            // Written anew with a matching hash: the next row's hash does not match.
            (
                """
                update gateway.audit_log set action = 'x' where sequence = 3;
                update gateway.audit_log a set hash = gateway.audit_hash(a) where sequence = 3
                """, 4
            ),
        ])
    func tampering(script: String, brokenAt: Int64) async throws {
        let store = try await Self.sixEntries.value
        for attempt in [script, "truncate gateway.audit_log"] {
            let error = await #expect(throws: PostgresError.self) {
                try await store.admin.withConnection { lease in try await lease.execute(script: attempt) }
            }
            #expect(error?.sqlState == "23000", "the trigger's: \(attempt)")
        }
        // Rolled back, so that each change is the only one.
        let found: [Int64?] = try await store.admin.withConnection { lease in
            func verified() async throws -> Int64? {
                try await lease.query("select broken_at from gateway.verify_audit_log()") { rows in
                    try rows.only { row in try row.value(0, as: Int64?.self) }
                }
            }
            try await lease.execute("begin")
            try await lease.execute("set local session_replication_role = replica")
            let before = try await verified()
            try await lease.execute(script: script)
            let after = try await verified()
            try await lease.execute("rollback")
            return [before, after]
        }
        #expect(found == [nil, brokenAt])
    }

    private static let sixEntries = Task {
        let store = try await StoreFixture()
        try await edits(6, in: store)
        return store
    }
}
