/// Reads and validates a JSON object: each call declares name, type and bounds of a member and returns its value.
///
/// ```swift
/// let body = try JSONReader(parsing: bytes, flaws: .rejectedWhereRead, spelling: .snakeOrCamelCase)
/// let message = try body.required("message", .text(1...8000))
/// let conversation: UUID? = try body.optional("conversation_id")
/// ```
/// The same declarations either throw the first finding (`init(parsing:)`) or collect all findings (`collect`). A collecting reader never
/// throws: it records the finding and returns a placeholder, and `collect` discards the value that was made of placeholders.
///
/// `null` counts as absent. Members that are not read are ignored unless `rejectUnknown` is called.
public struct JSONReader {
    /// How repeated names, lone surrogates, U+0000 and numbers beyond a double are treated.
    public enum FlawRule: Sendable {
        /// The last of repeated members applies, lone surrogates are U+FFFD. For text of a trusted writer.
        case ignored
        /// A flaw in a value that is read is a finding.
        case rejectedWhereRead
    }

    /// How the names of members are compared with declared names, which are in snake_case.
    public enum Spelling: Sendable {
        case exact
        /// `conversationId` is accepted for `conversation_id`, as Swift's `JSONEncoder` and JavaScript write it. Both together must agree.
        case snakeOrCamelCase
    }

    /// The value; `null` in a placeholder.
    public let value: JSONValue
    /// The path in findings, in the declared spelling; empty for the root.
    public let path: String
    /// The path in the spelling of the text, to find this value among the document's flaws.
    let textPath: String
    let session: ReadingSession
    /// Whether this replaces a value that is missing or of another type. That finding is recorded already; findings below it are not
    /// reported.
    let isPlaceholder: Bool

    /// Parses a whole text. The reader throws the first finding.
    /// - Parameter maximumDepth: as `JSONDocument` has it.
    public init(
        parsing bytes: [UInt8], flaws rule: FlawRule = .ignored, spelling: Spelling = .exact, maximumDepth: Int = JSONCursor.maximumDepth
    ) throws(JSONFinding) {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: bytes, maximumDepth: maximumDepth)
        } catch {
            throw JSONFinding(error.path, .malformed(error))
        }
        self.init(document.value, ReadingSession(spelling: spelling, flaws: rule == .ignored ? [] : document.findings))
    }

    /// A reader of a parsed value that throws the first finding.
    /// - Parameter path: precedes the paths in findings.
    public init(_ value: JSONValue, path: String = "") {
        self.init(value, path: path, textPath: path, ReadingSession(), isPlaceholder: false)
    }

    /// The most findings of the text itself that `collect` returns, and the most of reading it. More help nobody; each of the first is located by
    /// counting lines, and each of the others is compared with the rest.
    private static let mostFindings = 200

    /// Parses an object, reads it with `body` and collects all findings, up to a bound; repeated names and the other flaws are findings anywhere in the
    /// text, with their line. The value is nil exactly when there are findings.
    public static func collect<Value>(
        _ bytes: [UInt8], _ body: (JSONReader) throws(JSONFinding) -> Value
    ) -> (value: Value?, findings: [JSONFinding]) {
        func unreadable(_ error: JSONError) -> JSONFinding { JSONFinding("", .invalid("cannot be read: \(error.text(in: bytes))")) }
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: bytes)
        } catch {
            return (nil, [unreadable(error)])
        }
        return collect(document.value, findings: document.findings.prefix(mostFindings).map(unreadable), body)
    }

    /// The same for an object that is parsed already.
    public static func collect<Value>(
        _ object: JSONValue, findings: [JSONFinding] = [], _ body: (JSONReader) throws(JSONFinding) -> Value
    ) -> (value: Value?, findings: [JSONFinding]) {
        guard object.members != nil else { return (nil, findings + [JSONFinding("", .wrongType(expected: .object))]) }
        let session = ReadingSession(collects: true, limit: findings.count + mostFindings, findings: findings)
        do throws(JSONFinding) {
            let value = try body(JSONReader(object, session))
            return session.findings.isEmpty ? (value, []) : (nil, session.findings)
        } catch {
            // Thrown by `body` itself, not by the reader.
            return (nil, session.findings + [error])
        }
    }

    private init(_ value: JSONValue, _ session: ReadingSession) {
        self.init(value, path: "", textPath: "", session, isPlaceholder: false)
    }

    init(_ value: JSONValue, path: String, textPath: String, _ session: ReadingSession, isPlaceholder: Bool) {
        self.value = value
        self.path = path
        self.textPath = textPath
        self.session = session
        self.isPlaceholder = isPlaceholder
    }
}

// MARK: - Findings

extension JSONReader {
    /// Reports a problem of this value: throws it, or records it when findings are collected.
    public func report(_ problem: JSONFinding.Problem) throws(JSONFinding) {
        if !isPlaceholder { try session.report(JSONFinding(path, problem)) }
    }

    /// Reports a problem of a member.
    public func report(_ name: String, _ problem: JSONFinding.Problem) throws(JSONFinding) {
        if problem == .missing { session.recorder?.recordMember(name, of: path, isRequired: true) }
        if !isPlaceholder { try session.report(JSONFinding(path(to: name), problem)) }
    }

    /// Reports a problem of this value and, when findings are collected, returns the placeholder.
    public func reject<Value>(
        _ problem: JSONFinding.Problem, _ placeholder: @autoclosure () -> Value
    ) throws(JSONFinding) -> Value {
        try report(problem)
        return placeholder()
    }

    /// Converts the value with `read`, which returns nil for a value of another type than `kind`: then that is reported.
    public func scalar<Value>(
        _ kind: JSONKind, _ placeholder: @autoclosure () -> Value, _ read: (JSONValue) -> Value?
    ) throws(JSONFinding) -> Value {
        if declares(JSONDeclaration(kind)) { return placeholder() }
        guard let value = read(value) else { return try reject(.wrongType(expected: kind), placeholder()) }
        return value
    }

    /// Whether nothing was reported for this value and the values below it. Only readers that collect findings know.
    public var isSound: Bool {
        !isPlaceholder && !session.findings.contains { $0.path == path || $0.path.hasPrefix("\(path).") || $0.path.hasPrefix("\(path)[") }
    }

    func path(to name: String) -> String { Self.join(path, name) }

    static func join(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}

/// The state that all readers of one text share: rules and findings. Not thread-safe; used within one call.
final class ReadingSession {
    let spelling: JSONReader.Spelling
    /// The findings of the document that reading a value reports.
    let flaws: [JSONError]
    let collects: Bool
    /// Records declarations instead of reading values; nil: values are read.
    let recorder: DeclarationRecorder?
    /// The most findings; more are dropped. Each new one is compared with the others, and an untrusted text may have thousands.
    private let limit: Int
    private(set) var findings: [JSONFinding]
    /// The names that were read, by the path of their object. Kept only when findings are collected.
    private var namesRead: [String: Set<String>] = [:]
    /// The first flaw of each path. Looked up for each value that is read: an untrusted text may have thousands of both.
    private lazy var flawsAt = Dictionary(flaws.map { ($0.path, $0) }) { first, _ in first }
    /// The first flaw below each path.
    private lazy var flawsInside = makeFlawsInside()

    init(
        collects: Bool = false, limit: Int = .max, spelling: JSONReader.Spelling = .exact, flaws: [JSONError] = [],
        findings: [JSONFinding] = []
    ) {
        self.collects = collects
        recorder = nil
        self.limit = limit
        self.spelling = spelling
        self.flaws = flaws
        self.findings = findings
    }

    /// A session without a text. Its findings are dropped.
    init(_ recorder: DeclarationRecorder) {
        collects = true
        self.recorder = recorder
        limit = 0
        spelling = .exact
        flaws = []
        findings = []
    }

    /// Whether further findings are dropped.
    var isFull: Bool { findings.count >= limit }

    func flaw(at path: String) -> JSONError? { flaws.isEmpty ? nil : flawsAt[path] }

    func flaw(inside path: String) -> JSONError? { flaws.isEmpty ? nil : flawsInside[path] }

    private func makeFlawsInside() -> [String: JSONError] {
        var inside: [String: JSONError] = [:]
        for flaw in flaws {
            // Compares bytes, because a name may begin with a combining character, which forms one `Character` with the dot before it.
            var path = flaw.path.utf8[...]
            while let end = path.lastIndex(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "[") }) {
                path = path[..<end]
                let text = String(Substring(path))
                // The paths above it have a flaw already.
                guard inside[text] == nil else { break }
                inside[text] = flaw
            }
        }
        return inside
    }

    func report(_ finding: JSONFinding) throws(JSONFinding) {
        guard collects else { throw finding }
        if !isFull, !findings.contains(finding) { findings.append(finding) }
    }

    func markRead(_ name: String, of path: String) {
        if collects { namesRead[path, default: []].insert(name) }
    }

    func isRead(_ name: String, of path: String) -> Bool { namesRead[path]?.contains(name) ?? false }
}
