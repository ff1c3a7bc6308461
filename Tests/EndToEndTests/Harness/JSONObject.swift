import Foundation

/// A JSON object for tests: members by name and type, nil when missing or of another type.
// SAFETY: nothing changes the members, which are values of JSON.
struct JSONObject: @unchecked Sendable {
    private let members: [String: Any]

    init(_ members: [String: Any]) { self.members = members }

    /// Empty when the text is not a JSON object.
    init(_ text: String) { self.init(Data(text.utf8)) }

    init(_ data: Data) { members = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:] }

    var names: Set<String> { Set(members.keys) }

    subscript(_ name: String) -> String? { members[name] as? String }
    func number(_ name: String) -> Int? { members[name] as? Int }
    func real(_ name: String) -> Double? { (members[name] as? NSNumber)?.doubleValue }
    func flag(_ name: String) -> Bool? { members[name] as? Bool }
    func object(_ name: String) -> JSONObject { JSONObject(members[name] as? [String: Any] ?? [:]) }
    func objects(_ name: String) -> [JSONObject] { (members[name] as? [[String: Any]] ?? []).map(JSONObject.init) }
    func texts(_ name: String) -> [String] { members[name] as? [String] ?? [] }
    func isNull(_ name: String) -> Bool { members[name] is NSNull }
}
