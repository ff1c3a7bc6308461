import JSON

/// Takes an object's members apart and collects what is wrong, so that all of it can be told at once.
struct FieldReader {
    private let members: [JSONMember]
    private let place: String
    private var known: Set<String> = []
    private(set) var findings: [String] = []

    init(_ value: JSONValue, _ place: String) {
        members = value.members ?? []
        self.place = place
        if value.members == nil { findings.append("\(place): must be an object") }
    }

    /// A member as it stands; marks it as known.
    mutating func value(_ name: String) -> JSONValue? {
        known.insert(name)
        return members.last { $0.key == name }?.value
    }

    mutating func object(_ name: String, isRequired: Bool = true) -> JSONValue? {
        read(name, isRequired, "an object") { $0.members == nil ? nil : $0 }
    }

    mutating func text(_ name: String, isRequired: Bool = true) -> String? {
        read(name, isRequired, "a text that is not empty") { $0.string.flatMap { $0.isEmpty ? nil : $0 } }
    }

    mutating func bool(_ name: String) -> Bool? {
        read(name, false, "true or false") { $0.bool }
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
        read(name, true, "a whole number from \(range.lowerBound) to \(range.upperBound)") { value in
            value.integer.map { Int($0) }.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    mutating func number(_ name: String, in range: ClosedRange<Double>) -> Double? {
        read(name, false, "a number from \(range.lowerBound) to \(range.upperBound)") { value in
            value.number.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(_ name: String, _: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        read(name, true, Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")) {
            $0.string.flatMap { Choice(rawValue: $0) }
        }
    }

    /// Every member that nobody asked for is a finding.
    mutating func expectNothingElse(but ignored: Set<String>) {
        for member in members where !known.contains(member.key) && !ignored.contains(member.key) {
            findings.append("\(place): unknown member \(member.key)")
        }
    }

    private mutating func read<Value>(
        _ name: String, _ isRequired: Bool, _ expected: String, _ parse: (JSONValue) -> Value?
    ) -> Value? {
        guard let raw = value(name) else {
            if isRequired { findings.append("\(place): \(name) is missing") }
            return nil
        }
        if let value = parse(raw) { return value }
        findings.append("\(place): \(name) must be \(expected)")
        return nil
    }
}
