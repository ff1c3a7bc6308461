import JSON

/// What a change does with a field that may be empty.
public enum FieldChange<Value: Sendable>: Sendable {
    case keep
    case clear
    case set(Value)
}

extension FieldChange: Equatable where Value: Equatable {}

extension FieldChange {
    /// The member of a merge patch; nil keeps the field.
    func member(_ name: String, _ json: (Value) -> JSONValue) -> JSONMember? {
        switch self {
        case .keep: nil
        case .clear: JSONMember(name, .null)
        case .set(let value): JSONMember(name, json(value))
        }
    }
}
