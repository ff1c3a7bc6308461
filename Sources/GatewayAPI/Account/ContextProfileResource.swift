import JSON

/// `GET /api/v1/context-profile`, and an element of its history.
public struct ContextProfileResource: Sendable, Equatable {
    /// 0: the user has no profile.
    public var version: Int64
    /// Statements: strings, or objects with a `text`.
    public var values: [JSONValue]
    public var goals: [JSONValue]
    public var situation: [JSONValue]
    public var updatedAt: Timestamp?

    public init(version: Int64, values: [JSONValue], goals: [JSONValue], situation: [JSONValue], updatedAt: Timestamp?) {
        self.version = version
        self.values = values
        self.goals = goals
        self.situation = situation
        self.updatedAt = updatedAt
    }
}

extension ContextProfileResource: WireResource {
    public static let schemaName = "ContextProfile"
    public static let statements = Schema.array(of: .any).described("strings, or objects with a `text`")
    public static let fields: [Schema.Field] = [
        .init("version", .integer), .init("values", statements), .init("goals", statements), .init("situation", statements),
        .init("updated_at", .time.nullable),
    ]

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("version", version)
            writer.key(literal: "values")
            JSONValue.array(values).write(to: &writer)
            writer.key(literal: "goals")
            JSONValue.array(goals).write(to: &writer)
            writer.key(literal: "situation")
            JSONValue.array(situation).write(to: &writer)
            writer.member("updated_at", updatedAt)
        }
    }
}
