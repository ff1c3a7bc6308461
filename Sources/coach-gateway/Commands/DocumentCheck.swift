import CoachCore
import CoachStore
import JSON
import PostgresClient

/// The findings of `check` about the documents that operators edited, and of the audit log.
struct DocumentCheck {
    let client: PostgresClient
    let types: [DocumentType]

    /// `notes`: where the documents in force differ from the shipped ones. `findings`: those that this release does not accept, and a broken
    /// audit log. Applies the documents in force, as a gateway does.
    func run() async throws -> (notes: [String], findings: [String]) {
        let documents = VersionedDocuments.postgres(client: client)
        var notes: [String] = []
        var findings: [String] = []
        for type in types {
            var bodies: [String: JSONValue] = [:]
            for version in try await documents.current(type.kind) {
                guard let shipped = type.shipped[version.name.id] else {
                    notes.append("database: \(version.name) is not a document of this release")
                    continue
                }
                guard let body = version.body else { continue }
                bodies[version.name.id] = body
                let paths = JSONPatch.difference(from: shipped, to: body).map(\.path)
                if !paths.isEmpty {
                    notes.append(
                        "database: \(version.name) version \(version.version) differs from the shipped file in "
                            + paths.joined(separator: ", "))
                }
                findings += type.findings(version.name.id, body).map { "database: \(version.name) version \(version.version): \($0)" }
            }
            // Its findings are those above.
            _ = type.apply(bodies)
        }
        let chain = try await AuditLog.postgres(client: client).verify()
        if let sequence = chain.brokenAt {
            findings.append("database: the audit log was changed: entry \(sequence) does not follow the one before it")
        }
        return (notes, findings)
    }
}
