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

    @Test("two instances apply an edit of a third within 2 s, and earlier edits when they start")
    func reload() async throws {
        let store = try await StoreFixture.shared()
        let (documents, name) = (VersionedDocuments.postgres(client: store.gateway), name())
        _ = try await documents.put(editor, DocumentEdit(name: name, expectedVersion: 1, content: .body(["n": 1])))
        let (stream, seen) = AsyncStream<(Int, [String: Int])>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for instance in 0..<2 {
                group.addTask {
                    let type = Self.type([name.id, "untouched"]) { seen.yield((instance, $0)) }
                    let documents = VersionedDocuments.postgres(client: instance == 0 ? store.gateway : store.admin)
                    try await DocumentReloader(documents: documents, types: [type]).run { _ in }
                }
            }
            var values: [Int: [Int?]] = [:]
            var edited: ContinuousClock.Instant?
            for await (instance, documents) in stream {
                #expect(documents["untouched"] == 0)
                values[instance, default: []].append(documents[name.id])
                if edited == nil, values.count == 2 {
                    edited = .now
                    let edit = DocumentEdit(name: name, expectedVersion: 2, content: .body(["n": 2]))
                    _ = try await VersionedDocuments.postgres(client: store.gateway).put(editor, edit)
                }
                if values == [0: [1, 2], 1: [1, 2]] { break }
            }
            let took = try #require(edited).duration(to: .now)
            #expect(took < .seconds(2), "took \(took)")
            group.cancelAll()
            while let result = await group.nextResult() {
                if case .failure(let error) = result, !(error is CancellationError) { throw error }
            }
        }
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
        let reloader = DocumentReloader(documents: documents, types: [type])
        let (stream, events) = AsyncStream<DocumentReloader.Event>.makeStream()
        let running = Task { try await reloader.run { events.yield($0) } }
        defer { running.cancel() }
        let first = try #require(await stream.first { _ in true })
        guard case .applied(let versions, let findings) = first else { throw StoreFault.unexpected("\(first)") }
        #expect(Set(versions.map(\.name)) == [good, bad])
        #expect(findings.map(\.description) == ["limits/\(bad.id): n must be a whole number from 0 to 9"])
        #expect(applied.withLock { $0 } == [good.id: 3, bad.id: 0])
    }
}
