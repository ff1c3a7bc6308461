import Foundation
import JSON

/// Port to the documents that operators edit while the gateway runs. `CoachStore` implements it on PostgreSQL.
///
/// Version 1 of a document is the file that the gateway ships; the store holds the versions from 2 on. A document that was never edited is
/// not in the store. Closures throw `StoreFault`.
public struct VersionedDocuments: Sendable {
    /// The current versions of a kind, by id.
    public var current: @Sendable (_ kind: DocumentKind) async throws -> [DocumentVersion]
    /// One version; nil when the store does not have it.
    public var version: @Sendable (DocumentName, Int) async throws -> DocumentVersion?
    /// Versions below `before` (nil: from the newest), newest first.
    public var history: @Sendable (DocumentName, _ before: Int?, _ limit: Int) async throws -> [DocumentVersion]
    /// Adds a version, makes it the current one and logs it, in one transaction. Returns its number. Throws `StaleVersion`,
    /// `UnknownVersion`, `JSONFinding` when the body is too long for the store, and `NotAllowed` when the caller is not an operator.
    public var put: @Sendable (Caller, DocumentEdit) async throws -> Int
    /// Which version of each document is the current one.
    public var heads: @Sendable () async throws -> Set<DocumentHead>

    public init(
        current: @escaping @Sendable (_ kind: DocumentKind) async throws -> [DocumentVersion],
        version: @escaping @Sendable (DocumentName, Int) async throws -> DocumentVersion?,
        history: @escaping @Sendable (DocumentName, _ before: Int?, _ limit: Int) async throws -> [DocumentVersion],
        put: @escaping @Sendable (Caller, DocumentEdit) async throws -> Int,
        heads: @escaping @Sendable () async throws -> Set<DocumentHead>
    ) {
        self.current = current
        self.version = version
        self.history = history
        self.put = put
        self.heads = heads
    }
}

/// What a document configures. Raw values are lower-case names, stored in the database.
public struct DocumentKind: RawRepresentable, Hashable, Sendable {
    public var rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// One for each domain.
    public static let domain = Self(rawValue: "domain")
    public static let limits = Self(rawValue: "limits")
    public static let prices = Self(rawValue: "prices")
    public static let alertRules = Self(rawValue: "alert-rules")
}

/// Identifies a document.
public struct DocumentName: Hashable, Sendable {
    public var kind: DocumentKind
    /// Lower-case letters, digits, `_` and `-`, unique within the kind.
    public var id: String

    public init(kind: DocumentKind, id: String) {
        self.kind = kind
        self.id = id
    }
}

/// One immutable version of a document.
public struct DocumentVersion: Sendable, Equatable {
    public var name: DocumentName
    /// From 2 on; version 1 is the shipped file.
    public var version: Int
    /// nil: the shipped file, after a rollback to version 1.
    public var body: JSONValue?
    public var author: UserID
    public var reason: String?
    /// The version that a rollback restored.
    public var restores: Int?
    public var createdAt: Date

    public init(
        name: DocumentName, version: Int, body: JSONValue?, author: UserID, reason: String?, restores: Int?, createdAt: Date
    ) {
        self.name = name
        self.version = version
        self.body = body
        self.author = author
        self.reason = reason
        self.restores = restores
        self.createdAt = createdAt
    }
}

/// A new version of a document: input of `put`.
public struct DocumentEdit: Sendable, Equatable {
    public enum Content: Sendable, Equatable {
        case body(JSONValue)
        /// The body of an earlier version; 1 is the shipped file.
        case rollback(to: Int)
    }

    public var name: DocumentName
    /// The version that the editor saw (`If-Match`); 1 for a document that is not in the store.
    public var expectedVersion: Int
    public var content: Content
    public var reason: String?
    /// For the audit log.
    public var requestID: String?

    public init(name: DocumentName, expectedVersion: Int, content: Content, reason: String? = nil, requestID: String? = nil) {
        self.name = name
        self.expectedVersion = expectedVersion
        self.content = content
        self.reason = reason
        self.requestID = requestID
    }
}

/// A version of a document without its body. After a failover or a restored backup another version can have its number, but not its time.
public struct DocumentHead: Sendable, Hashable {
    public var name: DocumentName
    public var version: Int
    public var createdAt: Date

    public init(name: DocumentName, version: Int, createdAt: Date) {
        self.name = name
        self.version = version
        self.createdAt = createdAt
    }
}

extension DocumentVersion {
    var head: DocumentHead { DocumentHead(name: name, version: version, createdAt: createdAt) }
}

/// Another version became the current one since the editor read the document: `BIZ_2008`, status 412.
public struct StaleVersion: Error, Sendable, Equatable {
    public init() {}
}

/// A request names a version that does not exist.
public struct UnknownVersion: Error, Sendable, Equatable {
    /// The field or parameter that names it.
    public let field: String

    public init(field: String = "version") { self.field = field }
}

/// The caller's role does not allow an operator's function: `AUTH_1003`.
public struct NotAllowed: Error, Sendable, Equatable {
    public init() {}
}
