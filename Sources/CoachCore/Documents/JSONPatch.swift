import JSON

/// The difference of two JSON values as an RFC 6902 JSON Patch: operations that turn the first into the second when applied in order.
public enum JSONPatch {
    public enum Operation: Sendable, Equatable {
        /// Inserts a member, or an element before the index. Paths are JSON Pointers (RFC 6901).
        case add(path: String, JSONValue)
        case remove(path: String)
        case replace(path: String, JSONValue)

        public var path: String {
            switch self {
            case .add(let path, _), .remove(let path), .replace(let path, _): path
            }
        }

        /// The operation as RFC 6902 §4 writes it.
        public var json: JSONValue {
            switch self {
            case .add(let path, let value): .object([.init("op", "add"), .init("path", .string(path)), .init("value", value)])
            case .remove(let path): .object([.init("op", "remove"), .init("path", .string(path))])
            case .replace(let path, let value): .object([.init("op", "replace"), .init("path", .string(path)), .init("value", value)])
            }
        }
    }

    /// Members are compared by name, whatever their order. Arrays are compared after their common beginning and end, element by element.
    public static func difference(from old: JSONValue, to new: JSONValue) -> [Operation] {
        var operations: [Operation] = []
        compare(old, new, at: "", &operations)
        return operations
    }

    private static func compare(_ old: JSONValue, _ new: JSONValue, at path: String, _ operations: inout [Operation]) {
        switch (old, new) {
        case (.object(let oldMembers), .object(let newMembers)):
            for member in oldMembers where new[member.key] == nil { operations.append(.remove(path: path + step(member.key))) }
            for member in newMembers {
                let path = path + step(member.key)
                if let value = old[member.key] {
                    compare(value, member.value, at: path, &operations)
                } else {
                    operations.append(.add(path: path, member.value))
                }
            }
        case (.array(let oldElements), .array(let newElements)):
            compare(oldElements, newElements, at: path, &operations)
        default:
            if !isEqual(old, new) { operations.append(.replace(path: path, new)) }
        }
    }

    private static func compare(_ old: [JSONValue], _ new: [JSONValue], at path: String, _ operations: inout [Operation]) {
        let shorter = min(old.count, new.count)
        var prefix = 0
        while prefix < shorter, isEqual(old[prefix], new[prefix]) { prefix += 1 }
        var suffix = 0
        while suffix < shorter - prefix, isEqual(old[old.count - 1 - suffix], new[new.count - 1 - suffix]) { suffix += 1 }
        let common = shorter - prefix - suffix
        for index in prefix..<prefix + common { compare(old[index], new[index], at: "\(path)/\(index)", &operations) }
        // From the end, so that the indices of the others stay as they are.
        for index in (prefix + common..<old.count - suffix).reversed() { operations.append(.remove(path: "\(path)/\(index)")) }
        for index in prefix + common..<new.count - suffix { operations.append(.add(path: "\(path)/\(index)", new[index])) }
    }

    /// Equality that disregards the order of members and, as JSON does, treats `1` and `1.0` alike.
    private static func isEqual(_ a: JSONValue, _ b: JSONValue) -> Bool {
        switch (a, b) {
        case (.object(let members), .object(let others)):
            members.count == others.count && members.allSatisfy { member in b[member.key].map { isEqual(member.value, $0) } ?? false }
        case (.array(let elements), .array(let others)):
            elements.count == others.count && zip(elements, others).allSatisfy(isEqual)
        case (.integer, .number), (.number, .integer): a.number == b.number
        default: a == b
        }
    }

    /// One step of a JSON Pointer (RFC 6901 §3).
    private static func step(_ name: String) -> String {
        "/" + name.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}
