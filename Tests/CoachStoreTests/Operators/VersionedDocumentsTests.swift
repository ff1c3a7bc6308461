import CoachCore
import CoachStore
import Foundation
import JSON
import PostgresClient
import Synchronization
import Testing

@Suite("Versioned documents")
struct VersionedDocumentsTests {
    private let editor = Caller.someone(role: .operator)

    private func name() -> DocumentName { DocumentName(kind: .limits, id: "t\(UserID.random())") }

    @Test("an edit creates a version, a rollback another one with the old body, and all remain readable")
    func versions() async throws {
        let store = try await StoreFixture.shared()
        let (documents, name) = (VersionedDocuments.postgres(client: store.gateway), name())
        #expect(try await documents.version(name, 1) == nil, "version 1 is the file")
        #expect(
            try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 1, content: .body(["a": 1]), reason: "first")) == 2)
        #expect(try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 2, content: .body(["a": 2]))) == 3)
        #expect(try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 3, content: .rollback(to: 2))) == 4)
        let restored = try #require(try await documents.version(name, 4))
        #expect(restored.body == ["a": 1] && restored.restores == 2 && restored.author == editor.userID)
        #expect(try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 4, content: .rollback(to: 1))) == 5)
        #expect(try await documents.current(.limits).first { $0.name == name }?.body == .some(nil))
        #expect(try await documents.history(name, nil, 3).map(\.version) == [5, 4, 3])
        #expect(try await documents.history(name, 3, 3).map(\.reason) == ["first"])
        await #expect(throws: UnknownVersion()) {
            try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 5, content: .rollback(to: 9)))
        }
    }

    @Test("a body that is too long as the database writes it is rejected, and no version is made")
    func long() async throws {
        let store = try await StoreFixture.shared()
        let (documents, name) = (VersionedDocuments.postgres(client: store.gateway), name())
        // 200 kB as it is sent, 300 kB with a space after each comma.
        let body = JSONValue.array(Array(repeating: .integer(1), count: 100_000))
        await #expect(throws: JSONFinding("body", .invalid("is too long"))) {
            try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 1, content: .body(body)))
        }
        #expect(try await documents.history(name, nil, 3).isEmpty)
    }

    @Test("of concurrent edits of the same version one succeeds, and the others are stale")
    func concurrentEdits() async throws {
        let store = try await StoreFixture.shared()
        let (documents, name) = (VersionedDocuments.postgres(client: store.gateway), name())
        let outcomes = await withTaskGroup(of: Result<Int, any Error>.self) { group in
            for number in 0..<10 {
                group.addTask {
                    let edit = DocumentEdit(name: name, expectedVersion: 1, content: .body(.integer(Int64(number))))
                    do { return .success(try await documents.put(.someone(role: .operator), edit)) } catch { return .failure(error) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { (try? $0.get()) == 2 } == 1)
        let failures = outcomes.compactMap { outcome in if case .failure(let error) = outcome { error } else { nil } }
        #expect(failures.count == 9 && failures.allSatisfy { $0 as? StaleVersion == StaleVersion() }, "\(failures)")
    }

    @Test("only operators can edit, and a version cannot be changed", arguments: [nil, Role.creator])
    func rights(role: Role?) async throws {
        let store = try await StoreFixture.shared()
        let (documents, name) = (VersionedDocuments.postgres(client: store.gateway), name())
        await #expect(throws: NotAllowed()) {
            try await documents.put(.someone(role: role), DocumentEdit(name: name, expectedVersion: 1, content: .body([:])))
        }
        #expect(try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 1, content: .body([:]))) == 2)
        for statement in ["update gateway.document_versions set version = 9", "delete from gateway.document_versions"] {
            await #expect(throws: PostgresError.self) { try await store.admin.execute(Query(unsafeSQL: statement)) }
        }
    }

    /// Documents of numbers.
    private static func type(_ ids: [String], swap: @escaping @Sendable ([String: Int]) -> Void) -> DocumentType {
        DocumentType(.limits, shipped: Dictionary(uniqueKeysWithValues: ids.map { ($0, ["n": 0]) })) { (_, json) throws(JSONFinding) in
            try json.required("n", .integer(0...9))
        } swap: {
            swap($0)
        }
    }

    @Test("two instances apply an edit of a third at their next poll, and earlier edits at their first")
    func reload() async throws {
        let store = try await StoreFixture.shared()
        let (documents, name) = (VersionedDocuments.postgres(client: store.gateway), name())
        _ = try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 1, content: .body(["n": 1])))
        let values = Mutex<[[String: Int]]>([[:], [:]])
        let reloaders = [store.gateway, store.admin].enumerated().map { instance, client in
            let type = Self.type([name.id, "untouched"]) { documents in values.withLock { $0[instance] = documents } }
            return DocumentReloader(documents: .postgres(client: client), types: [type])
        }
        for version in 1...2 {
            for reloader in reloaders {
                #expect(try await reloader.poll()?.versions.map(\.version) == [version + 1])
                #expect(try await reloader.poll() == nil, "nothing has changed since")
            }
            let expected = [name.id: version, "untouched": 0]
            #expect(values.withLock { $0 } == [expected, expected])
            let edit = DocumentEdit(name: name, expectedVersion: version + 1, content: .body(["n": 2]))
            _ = try await documents.put(editor, edit)
        }
    }

    @Test("the first poll answers also when nobody has edited anything, and after a failed one the next reads what it missed")
    func firstPoll() async throws {
        let store = try await StoreFixture.shared()
        let isAway = Mutex(true)
        var documents = VersionedDocuments.postgres(client: store.gateway)
        let stored = documents.heads
        documents.heads = {
            if isAway.withLock({ $0 }) { throw StoreFault.unavailable(retryAfter: 1) }
            return try await stored()
        }
        let reloader = DocumentReloader(documents: documents, types: [Self.type([name().id]) { _ in }])
        await #expect(throws: StoreFault.self) { try await reloader.poll() }
        isAway.withLock { $0 = false }
        #expect(try await reloader.poll()?.versions.isEmpty == true)
        #expect(try await reloader.poll() == nil)
    }

    @Test("what a failover takes back is taken back here, and an edit after it is applied though its numbers were given out before")
    func takenBack() async throws {
        let store = try await StoreFixture.shared()
        let (documents, name) = (VersionedDocuments.postgres(client: store.gateway), name())
        let applied = Mutex<[String: Int]>([:])
        let type = Self.type([name.id]) { documents in applied.withLock { $0 = documents } }
        let reloader = DocumentReloader(documents: documents, types: [type])
        func edit(to number: Int64) async throws {
            _ = try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 1, content: .body(["n": .integer(number)])))
        }
        /// Lets the store lose the document. Its versions are immutable.
        func lose() async throws {
            try await store.admin.withTransaction { lease in
                try await lease.execute("set local session_replication_role = replica")
                try await lease.execute("delete from gateway.document_versions where id = \(name.id)")
                try await lease.execute("delete from gateway.documents where id = \(name.id)")
            }
        }
        let change: Query = "select change from gateway.documents where id = \(name.id)"
        try await edit(to: 1)
        #expect(try await reloader.poll()?.versions.map(\.version) == [2])
        #expect(applied.withLock { $0 } == [name.id: 1])
        let number = try await store.count(change)

        // The next edit comes before the next poll, and has the version and the change of the lost one.
        try await lose()
        try await edit(to: 2)
        try await store.admin.execute("update gateway.documents set change = \(number) where id = \(name.id)")
        #expect(try await reloader.poll()?.versions.map(\.version) == [2])
        #expect(applied.withLock { $0 } == [name.id: 2])
        try await lose()
        #expect(try await reloader.poll()?.versions.isEmpty == true)
        #expect(applied.withLock { $0 } == [name.id: 0])
        #expect(try await reloader.poll() == nil)
    }

    @Test("a body that this release rejects is reported and the shipped one used; the others take effect")
    func unreadable() async throws {
        let store = try await StoreFixture.shared()
        let (documents, good, bad) = (VersionedDocuments.postgres(client: store.gateway), name(), name())
        for (name, number) in [(good, 3), (bad, 10)] {
            _ = try await documents.put(
                editor, DocumentEdit(name: name, expectedVersion: 1, content: .body(["n": .integer(Int64(number))])))
        }
        let applied = Mutex<[String: Int]>([:])
        let type = Self.type([good.id, bad.id]) { documents in applied.withLock { $0 = documents } }
        let first = try #require(try await DocumentReloader(documents: documents, types: [type]).poll())
        #expect(Set(first.versions.map(\.name)) == [good, bad])
        #expect(first.findings.map(\.description) == ["limits/\(bad.id): n must be a whole number from 0 to 9"])
        #expect(applied.withLock { $0 } == [good.id: 3, bad.id: 0])
    }
}
