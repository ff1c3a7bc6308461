/// An error in a configuration file. Loaders collect findings and report all of them at once.
public struct ConfigurationFinding: Sendable, Hashable, CustomStringConvertible {
    /// The kind of error.
    public enum Problem: Sendable, Hashable {
        /// The bytes are not JSON, or not UTF-8.
        case unreadable(String)
        /// A required key, file or text is missing.
        case missing
        /// A key or file that the loader does not know: most often a spelling mistake.
        case unknown
        /// The value is not of the expected type.
        case wrongType(expected: String)
        /// The value has the right type but is outside the bounds named.
        case outOfBounds(String)
        /// The same name occurs twice.
        case duplicate(String)
        /// A name refers to something that does not exist.
        case unknownReference(String)
        /// A pattern or template has invalid syntax.
        case syntax(String)
    }

    /// File name as passed to the loader.
    public var file: String
    /// JSON path in the file: `entries[3].patterns[0]`; empty for the file itself.
    public var path: String
    public var problem: Problem

    public init(file: String, path: String, problem: Problem) {
        self.file = file
        self.path = path
        self.problem = problem
    }

    public var description: String {
        let location = path.isEmpty ? file : "\(file): \(path)"
        switch problem {
        case .unreadable(let reason): return "\(location): cannot be read: \(reason)"
        case .missing: return "\(location): missing"
        case .unknown: return "\(location): unknown"
        case .wrongType(let expected): return "\(location): expected \(expected)"
        case .outOfBounds(let bounds): return "\(location): out of bounds: \(bounds)"
        case .duplicate(let name): return "\(location): named twice: \(name)"
        case .unknownReference(let name): return "\(location): refers to the unknown \(name)"
        case .syntax(let reason): return "\(location): \(reason)"
        }
    }
}

/// The error of a configuration loader, with all findings.
public struct ConfigurationRejected: Error, Sendable, Equatable, CustomStringConvertible {
    /// At least one.
    public let findings: [ConfigurationFinding]

    public init(findings: [ConfigurationFinding]) { self.findings = findings }

    public var description: String { findings.map(\.description).joined(separator: "\n") }
}
