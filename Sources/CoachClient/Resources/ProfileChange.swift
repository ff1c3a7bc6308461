import JSON

/// Fields of the context profile. Their statements are texts, or objects with a `text`; an empty list empties a field.
public struct ProfileChange: Sendable, Equatable {
    /// At most 50 statements, as in the others; nil names no list.
    public var values: [JSONValue]?
    public var goals: [JSONValue]?
    public var situation: [JSONValue]?

    public init(values: [JSONValue]? = nil, goals: [JSONValue]? = nil, situation: [JSONValue]? = nil) {
        self.values = values
        self.goals = goals
        self.situation = situation
    }

    var json: JSONValue {
        let fields = [("values", values), ("goals", goals), ("situation", situation)]
        return .object(fields.compactMap { name, statements in statements.map { JSONMember(name, .array($0)) } })
    }
}
