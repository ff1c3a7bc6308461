import CoachCore
import Foundation
import JSON
import PostgresClient

extension VersionedDocuments {
    /// Documents in PostgreSQL. `operator.put_document` checks the caller's role; reading needs none.
    public static func postgres(client: PostgresClient) -> VersionedDocuments {
        VersionedDocuments(
            current: { kind in
                try await client.documentVersions(
                    """
                    join gateway.documents d on d.kind = v.kind and d.id = v.id and d.current_version = v.version
                    where v.kind = \(kind.rawValue) order by v.id
                    """)
            },
            version: { name, version in
                try await client.documentVersions(
                    "where v.kind = \(name.kind.rawValue) and v.id = \(name.id) and v.version = \(version)"
                ).first
            },
            history: { name, before, limit in
                try await client.documentVersions(
                    """
                    where v.kind = \(name.kind.rawValue) and v.id = \(name.id) and v.version < coalesce(\(before)::integer, 2147483647)
                    order by v.version desc limit \(limit)
                    """)
            },
            put: { caller, edit in try await client.put(edit, by: caller) },
            heads: {
                let query: Query = """
                    select v.kind, v.id, v.version, \(DocumentVersion.microseconds) from gateway.documents d
                    join gateway.document_versions v on v.kind = d.kind and v.id = d.id and v.version = d.current_version
                    """
                return try await StoreFault.translating {
                    try await client.query(query) { rows in
                        Set(
                            try rows.map { row in
                                DocumentHead(
                                    name: try DocumentVersion.name(of: row), version: try row.value(2),
                                    createdAt: Date(microseconds: try row.value(3)))
                            })
                    }
                }
            })
    }
}

extension PostgresClient {
    fileprivate func documentVersions(_ condition: Query) async throws -> [DocumentVersion] {
        try await StoreFault.translating {
            try await query("select \(DocumentVersion.columns) from gateway.document_versions v \(condition)") { rows in
                try rows.map { row in try DocumentVersion(row: row) }
            }
        }
    }

    fileprivate func put(_ edit: DocumentEdit, by caller: Caller) async throws -> Int {
        let (kind, id) = (edit.name.kind.rawValue, edit.name.id)
        let call: Query
        switch edit.content {
        case .body(let body):
            let text = String(decoding: body.bytes, as: UTF8.self)
            call = """
                operator.put_document(\(kind), \(id), \(edit.expectedVersion), \(text)::jsonb, \(edit.reason), \(edit.requestID))
                """
        case .rollback(let version):
            call = """
                operator.roll_back_document(\(kind), \(id), \(edit.expectedVersion), \(version), \(edit.reason), \(edit.requestID))
                """
        }
        do {
            let handled: Set = [SQLState.noDataFound, SQLState.checkViolation]
            let version = try await operatorQuery("select \(call)", for: caller, except: handled) { rows in
                try rows.only { row in try row.value(0, as: Int?.self) }
            }
            guard let version else { throw StaleVersion() }
            return version
        } catch let error as PostgresError where error.sqlState == SQLState.noDataFound {
            throw UnknownVersion()
        } catch let error as PostgresError where error.sqlState == SQLState.checkViolation {
            // Longer than the request's JSON, because jsonb writes spaces and all digits of a number.
            throw JSONFinding("body", .invalid("is too long"))
        }
    }
}

extension DocumentVersion {
    fileprivate static let columns: Query = "v.kind, v.id, v.version, v.body, v.author, v.reason, v.restores, \(microseconds)"
    fileprivate static let microseconds: Query = "(extract(epoch from v.created_at) * 1000000)::bigint"

    /// Of a row that begins with `v.kind, v.id`.
    fileprivate static func name(of row: borrowing Row) throws -> DocumentName {
        DocumentName(kind: DocumentKind(rawValue: try row.value(0)), id: try row.value(1))
    }

    fileprivate init(row: borrowing Row) throws {
        self.init(
            name: try Self.name(of: row), version: try row.value(2), body: try row.value(3, as: String?.self).map { try .stored($0) },
            author: try row.value(4), reason: try row.value(5), restores: try row.value(6),
            createdAt: Date(microseconds: try row.value(7)))
    }
}
