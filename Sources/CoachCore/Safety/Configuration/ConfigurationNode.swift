import Foundation
import JSON

/// Collects the findings of one load. A class, because all nodes share it. Not thread-safe; used within one loader call.
final class FindingCollector {
    private(set) var findings: [ConfigurationFinding] = []

    func add(_ file: String, _ path: String, _ problem: ConfigurationFinding.Problem) {
        findings.append(ConfigurationFinding(file: file, path: path, problem: problem))
    }

    /// Throws when there are findings.
    func rejectIfAny() throws(ConfigurationRejected) {
        guard findings.isEmpty else { throw ConfigurationRejected(findings: findings) }
    }
}

/// A value in a JSON file, with its path. Readers add a finding for an invalid value and return a default, so that the loader finds all
/// errors in one pass.
struct ConfigurationNode {
    let file: String
    let path: String
    let value: JSONValue
    let collector: FindingCollector

    /// The root of a file; nil with a finding when the file is not a JSON object.
    static func root(of json: Data, file: String, collector: FindingCollector) -> ConfigurationNode? {
        do throws(JSONError) {
            let value = try JSONValue(parsing: Array(json))
            guard case .object = value else {
                collector.add(file, "", .wrongType(expected: "an object"))
                return nil
            }
            return ConfigurationNode(file: file, path: "", value: value, collector: collector)
        } catch {
            collector.add(file, "", .unreadable(error.text(in: Array(json))))
            return nil
        }
    }

    private var members: [JSONMember] { value.members ?? [] }

    func report(_ problem: ConfigurationFinding.Problem) { collector.add(file, path, problem) }

    func report(_ key: String, _ problem: ConfigurationFinding.Problem) { collector.add(file, join(key), problem) }

    private func join(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private func node(_ value: JSONValue, at path: String) -> ConfigurationNode {
        ConfigurationNode(file: file, path: path, value: value, collector: collector)
    }

    /// Reports every other key as unknown.
    func allow(_ keys: Set<String>) {
        for key in self.keys where !keys.contains(key) { report(key, .unknown) }
    }

    /// The keys of an object, sorted.
    var keys: [String] { members.map(\.key).sorted() }

    /// A member, or nil when it is absent or null.
    func member(_ key: String) -> ConfigurationNode? {
        guard let value = value[key], value != .null else { return nil }
        return node(value, at: join(key))
    }

    /// The value as text; `length` is in Unicode scalars. Blank text is a finding, unless length 0 is allowed.
    func text(_ length: ClosedRange<Int>) -> String? {
        guard case .string(let text) = value else {
            report(.wrongType(expected: "a string"))
            return nil
        }
        guard length.contains(text.unicodeScalars.count) else {
            report(.outOfBounds("\(length.lowerBound) to \(length.upperBound) characters, has \(text.unicodeScalars.count)"))
            return nil
        }
        guard length.lowerBound == 0 || text.contains(where: { !$0.isWhitespace }) else {
            report(.outOfBounds("blank"))
            return nil
        }
        return text
    }

    /// A required text; "" with a finding when it is missing or invalid.
    func text(_ key: String, _ length: ClosedRange<Int> = 1...4_000) -> String {
        guard let node = member(key) else {
            report(key, .missing)
            return ""
        }
        return node.text(length) ?? ""
    }

    /// An optional text; nil when absent, nil with a finding when invalid.
    func optionalText(_ key: String, _ length: ClosedRange<Int> = 1...4_000) -> String? { member(key)?.text(length) }

    /// A required integer; the lower bound with a finding when it is missing or invalid.
    func integer(_ key: String, _ bounds: ClosedRange<Int>) -> Int {
        guard let node = member(key) else {
            report(key, .missing)
            return bounds.lowerBound
        }
        guard let integer = node.value.integer.flatMap({ Int(exactly: $0) }) else {
            node.report(.wrongType(expected: "an integer"))
            return bounds.lowerBound
        }
        guard bounds.contains(integer) else {
            node.report(.outOfBounds("\(bounds.lowerBound) to \(bounds.upperBound)"))
            return bounds.lowerBound
        }
        return integer
    }

    /// An optional boolean, default false.
    func flag(_ key: String) -> Bool {
        guard let node = member(key) else { return false }
        guard case .bool(let flag) = node.value else {
            node.report(.wrongType(expected: "true or false"))
            return false
        }
        return flag
    }

    /// The elements of an array; empty with a finding for other types.
    var elements: [ConfigurationNode] {
        guard case .array(let items) = value else {
            report(.wrongType(expected: "an array"))
            return []
        }
        return items.enumerated().map { node($1, at: "\(path)[\($0)]") }
    }

    /// The elements of a required array. A size outside `count` is a finding.
    func list(_ key: String, _ count: ClosedRange<Int>) -> [ConfigurationNode] {
        guard let node = member(key) else {
            report(key, .missing)
            return []
        }
        let elements = node.elements
        if case .array = node.value, !count.contains(elements.count) {
            node.report(.outOfBounds("\(count.lowerBound) to \(count.upperBound) elements, has \(elements.count)"))
        }
        return elements
    }

    /// A required array of texts; `length` is in Unicode scalars. Invalid elements are left out, with a finding.
    func texts(_ key: String, count: ClosedRange<Int>, length: ClosedRange<Int> = 1...300) -> [String] {
        list(key, count).compactMap { $0.text(length) }
    }

    /// A required object; nil with a finding when it is missing or of another type.
    func object(_ key: String) -> ConfigurationNode? {
        guard let node = member(key) else {
            report(key, .missing)
            return nil
        }
        guard case .object = node.value else {
            node.report(.wrongType(expected: "an object"))
            return nil
        }
        return node
    }

    /// A required case of an enumeration, by raw value; nil with a finding when it is missing or unknown.
    func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, _: Choice.Type = Choice.self) -> Choice?
    where Choice.RawValue == String {
        guard let node = member(key) else {
            report(key, .missing)
            return nil
        }
        guard case .string(let text) = node.value, let choice = Choice(rawValue: text) else {
            node.report(.wrongType(expected: "one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))"))
            return nil
        }
        return choice
    }
}
