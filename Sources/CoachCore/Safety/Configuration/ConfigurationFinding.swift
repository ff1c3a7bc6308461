import JSON

/// An error in a configuration file. Loaders collect findings and report all of them at once.
public struct ConfigurationFinding: Sendable, Hashable, CustomStringConvertible {
    /// File name as passed to the loader.
    public var file: String
    /// Path in the file: `entries[3].patterns[0]`; empty for the file itself.
    public var path: String
    public var problem: JSONFinding.Problem

    public init(_ file: String, _ path: String, _ problem: JSONFinding.Problem) {
        self.file = file
        self.path = path
        self.problem = problem
    }

    public var description: String { "\(file): \(JSONFinding(path, problem))" }
}

/// The error of a configuration loader, with all findings.
public struct ConfigurationRejected: Error, Sendable, Equatable, CustomStringConvertible {
    /// At least one.
    public let findings: [ConfigurationFinding]

    public init(findings: [ConfigurationFinding]) { self.findings = findings }

    public var description: String { findings.map(\.description).joined(separator: "\n") }

    /// Reads a file with `body`; throws all its findings.
    static func read<Value>(
        _ json: [UInt8], file: String, _ body: (JSONReader) throws(JSONFinding) -> Value
    ) throws(ConfigurationRejected) -> Value {
        let (value, findings) = JSONReader.collect(json, body)
        guard let value else {
            throw ConfigurationRejected(findings: findings.map { ConfigurationFinding(file, $0.path, $0.problem) })
        }
        return value
    }

    /// Reads a file of text: UTF-8, without the byte order mark that some editors write, and not blank.
    public static func text(_ bytes: [UInt8], file: String) throws(ConfigurationRejected) -> String {
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationRejected(findings: [ConfigurationFinding(file, "", .invalid("cannot be read: not UTF-8"))])
        }
        if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        if text.allSatisfy(\.isWhitespace) { throw ConfigurationRejected(findings: [ConfigurationFinding(file, "", .empty)]) }
        return text
    }
}
