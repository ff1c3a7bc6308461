/// One thing that is wrong in a configuration file. Findings are collected, so that a check reports all of them at once.
public struct ConfigurationFinding: Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    public enum Problem: Sendable, Hashable {
        /// The bytes are not JSON, or not UTF-8.
        case unreadable(String)
        /// A key, file or text that must be there is not.
        case missing
        /// A key or file that nothing reads: most often a spelling mistake.
        case unknown
        /// The value has another type than the one named.
        case wrongType(expected: String)
        /// The value has the right type and is out of bounds.
        case outOfBounds(String)
        /// The same thing is named twice.
        case duplicate(String)
        /// A name refers to something that does not exist.
        case unknownReference(String)
        /// A pattern or template cannot be read.
        case syntax(String)
    }

    /// The file's name as the loader was told it.
    public var file: String
    /// Where in the file: `entries[3].patterns[0]`; empty for the file itself.
    public var path: String
    /// What is wrong there.
    public var problem: Problem

    /// Memberwise.
    public init(file: String, path: String, problem: Problem) {
        self.file = file
        self.path = path
        self.problem = problem
    }

    public var description: String {
        let place = path.isEmpty ? file : "\(file): \(path)"
        switch problem {
        case .unreadable(let reason): return "\(place): cannot be read: \(reason)"
        case .missing: return "\(place): missing"
        case .unknown: return "\(place): unknown"
        case .wrongType(let expected): return "\(place): expected \(expected)"
        case .outOfBounds(let bounds): return "\(place): out of bounds: \(bounds)"
        case .duplicate(let name): return "\(place): named twice: \(name)"
        case .unknownReference(let name): return "\(place): refers to the unknown \(name)"
        case .syntax(let reason): return "\(place): \(reason)"
        }
    }
}

/// Thrown once by a loader, with everything that it found.
public struct ConfigurationRejected: Error, Sendable, Equatable, CustomStringConvertible {
    /// At least one.
    public let findings: [ConfigurationFinding]

    /// Wraps what was found.
    public init(findings: [ConfigurationFinding]) { self.findings = findings }

    public var description: String { findings.map(\.description).joined(separator: "\n") }
}
