import Foundation
import JSON

/// The raw settings (environment over file over default) and all findings in them.
struct Settings: Sendable {
    private(set) var findings: [String] = []
    private var values: [String: String] = [:]

    /// `file` is the content of the `--config` file: one JSON object whose members are named like the environment variables. An empty value, here or
    /// there, counts as none. Line ends behind a value are dropped, because what reads a secret from a file often keeps them; but not those of a secret
    /// that another program may have from the same file, and with the same line ends.
    init(environment: [String: String], file: Data? = nil) {
        let known = Dictionary(uniqueKeysWithValues: SettingKey.all.map { ($0.name, $0) })
        if let file {
            let (values, findings) = JSONReader.collect(Array(file)) { (root) throws(JSONFinding) in try Self.values(root, known) }
            self.values = values ?? [:]
            self.findings = findings.map { "the configuration file: \($0)" }
        }
        for name in known.keys {
            if let value = environment[name].map({ Self.value($0, of: name) }), !value.isEmpty { values[name] = value }
        }
    }

    private static func value(_ text: String, of name: String) -> String {
        if SettingKey.exact.contains(where: { $0.name == name }) { return text }
        var rest = text[...]
        while rest.last?.isNewline == true { rest.removeLast() }
        return String(rest)
    }

    private static func values(_ root: JSONReader, _ known: [String: SettingKey]) throws(JSONFinding) -> [String: String] {
        var values: [String: String] = [:]
        for name in root.names {
            guard known[name] != nil else {
                try root.report(name, .unknown)
                continue
            }
            switch try root.value(name) {
            case .string(let text):
                let value = Self.value(text, of: name)
                values[name] = value.isEmpty ? nil : value
            case .integer(let number): values[name] = "\(number)"
            default: try root.report(name, .invalid("must be a text or a whole number"))
            }
        }
        return values
    }

    /// The value, or its default.
    func text(_ key: SettingKey) -> String? { values[key.name] ?? key.fallback }

    /// A whole number within bounds; a finding, and nil, for anything else.
    mutating func integer(_ key: SettingKey, in bounds: ClosedRange<Int>) -> Int? {
        guard let text = text(key) else { return nil }
        guard let number = Int(text), bounds.contains(number) else {
            findings.append("\(key.name): \(shown(text, key)) is not a whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
            return nil
        }
        return number
    }

    /// Texts separated by commas. A finding for a value that has none: what it was to switch on, such as the check of a signature, would be off.
    mutating func list(_ key: SettingKey) -> [String] {
        guard let text = text(key), !text.isEmpty else { return [] }
        let entries = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
        if entries.isEmpty { findings.append("\(key.name): has nothing beside commas") }
        return entries
    }

    /// An address or a name to listen on.
    mutating func host(_ key: SettingKey) -> String? {
        guard let text = text(key) else { return nil }
        guard ListenAddress.isHost(text) else {
            findings.append("\(key.name): \(shown(text, key)) is neither an IP address nor the name of a host")
            return nil
        }
        return text
    }

    /// One of the values of an enumeration.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(_ key: SettingKey, _: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        guard let text = text(key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            findings.append("\(key.name): \(shown(text, key)) is not one of \(all)")
            return nil
        }
        return choice
    }

    /// `host:port`; IPv6 hosts in brackets.
    mutating func address(_ key: SettingKey) -> ListenAddress? {
        guard let text = text(key), text != "off" else { return nil }
        guard let address = ListenAddress(text) else {
            findings.append("\(key.name): \(shown(text, key)) is not host:port")
            return nil
        }
        return address
    }

    /// Adds what a caller found wrong with a value.
    mutating func complain(_ key: SettingKey, _ what: String) { findings.append("\(key.name): \(what)") }

    private func shown(_ text: String, _ key: SettingKey) -> String { key.secret ? "the value" : "\"\(text)\"" }
}
