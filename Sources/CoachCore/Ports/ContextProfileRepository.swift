import Foundation
import JSON

/// Port to a user's context profile and its earlier versions. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct ContextProfileRepository: Sendable {
    /// Version 0, without statements, when the user has none.
    public var get: @Sendable (Caller) async throws -> ContextProfileVersion
    /// Replaces fields and returns the result. The version that was replaced goes to the history. An edit that changes nothing makes no version.
    /// Throws `StaleVersion`, `ProfileTooLong`, and `Rejection` `tooManyItems` after 20,000 versions.
    public var edit: @Sendable (Caller, ContextProfileEdit) async throws -> ContextProfileVersion
    /// The current version, then earlier ones, newest first: those below `before` (nil: all).
    public var history: @Sendable (Caller, _ before: Int64?, _ limit: Int) async throws -> [ContextProfileVersion]

    public init(
        get: @escaping @Sendable (Caller) async throws -> ContextProfileVersion,
        edit: @escaping @Sendable (Caller, ContextProfileEdit) async throws -> ContextProfileVersion,
        history: @escaping @Sendable (Caller, _ before: Int64?, _ limit: Int) async throws -> [ContextProfileVersion]
    ) {
        self.get = get
        self.edit = edit
        self.history = history
    }
}

/// The fields of a profile: arrays of statements, each a string or an object with a `text`.
public enum ContextProfileField: String, Sendable, CaseIterable {
    case values, goals, situation
}

/// A version of a profile.
public struct ContextProfileVersion: Sendable, Equatable {
    public var version: Int64
    /// Statements of every field.
    public var fields: [ContextProfileField: [JSONValue]]
    /// nil for version 0.
    public var writtenAt: Date?
    /// The version that an undo made current again with this one; nil: this one is an edit.
    public var restores: Int64?

    public init(version: Int64, fields: [ContextProfileField: [JSONValue]], writtenAt: Date?, restores: Int64? = nil) {
        self.version = version
        self.fields = fields
        self.writtenAt = writtenAt
        self.restores = restores
    }

    /// Of a user without a profile.
    public static let empty = ContextProfileVersion(
        version: 0, fields: Dictionary(uniqueKeysWithValues: ContextProfileField.allCases.map { ($0, []) }), writtenAt: nil)
}

/// Input of `edit`.
public struct ContextProfileEdit: Sendable, Equatable {
    /// Fields that are not named stay as they are.
    public var fields: [ContextProfileField: [JSONValue]]
    /// The versions that may be changed; nil: any.
    public var expectedVersions: [Int64]?
    /// As `ContextProfileVersion.restores`.
    public var restores: Int64?

    public init(fields: [ContextProfileField: [JSONValue]], expectedVersions: [Int64]?, restores: Int64? = nil) {
        self.fields = fields
        self.expectedVersions = expectedVersions
        self.restores = restores
    }
}

/// The statements of a field are longer than the database keeps.
public struct ProfileTooLong: Error, Sendable, Equatable {
    public var field: ContextProfileField

    public init(_ field: ContextProfileField) { self.field = field }
}
