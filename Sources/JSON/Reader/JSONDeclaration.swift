/// What a reader's declarations say of a value: its type, its bounds and, of an object, its members. For documents such as JSON Schema.
public indirect enum JSONDeclaration: Sendable, Equatable {
    /// A member of an object.
    public struct Member: Sendable, Equatable {
        public var name: String
        public var declaration: JSONDeclaration
        /// Others may be absent or `null`.
        public var isRequired: Bool

        public init(_ name: String, _ declaration: JSONDeclaration, isRequired: Bool) {
            self.name = name
            self.declaration = declaration
            self.isRequired = isRequired
        }
    }

    case any
    case boolean
    case number
    /// nil: of any size.
    case integer(ClosedRange<Int>?)
    /// A length in Unicode scalars. Unless length 0 is allowed, the text is not only white space.
    case text(ClosedRange<Int>)
    case choice([String])
    /// A text that is parsed; completes the sentence "must be …".
    case parsed(String)
    case uuid
    /// RFC 3339.
    case time
    case list(JSONDeclaration, ClosedRange<Int>)
    /// Members that are not declared are ignored.
    case object([Member])
    case either([JSONDeclaration])

    /// Runs `read` without a text and records what it declares. Every member counts as present, what is read of it is a placeholder, and
    /// findings are dropped. A member that `read` itself reports as missing is a required one.
    public init<Value>(of read: (JSONReader) throws(JSONFinding) -> Value) {
        let recorder = DeclarationRecorder()
        do throws(JSONFinding) {
            _ = try read(JSONReader(.null, path: "", textPath: "", ReadingSession(recorder), isPlaceholder: false))
        } catch {
            // Readers report. What comes after a finding that is thrown would be missing here.
            preconditionFailure("a reader throws \(error) by itself")
        }
        self = recorder.object(at: "")
    }
}

extension JSONDeclaration {
    /// A value of a type, without bounds.
    init(_ kind: JSONKind) {
        self =
            switch kind {
            case .object: .object([])
            case .array: .list(.any, 0...Int.max)
            case .string: .text(0...Int.max)
            case .number: .number
            case .bool: .boolean
            case .null: .any
            }
    }
}

extension JSONReader {
    /// Records what a field that reads `value` itself accepts. True when only declarations are recorded: then there is no value.
    public func declares(_ declaration: @autoclosure () -> JSONDeclaration) -> Bool {
        guard let recorder = session.recorder else { return false }
        recorder.record(declaration(), at: path)
        return true
    }

    /// The reader of a member of which only the declarations are recorded.
    func declaredMember(_ name: String) -> JSONReader {
        JSONReader(.null, path: path(to: name), textPath: "", session, isPlaceholder: false)
    }
}

/// The declarations of one run of a reader, by path; of the elements of `list` that is `list[]`.
final class DeclarationRecorder {
    private var values: [String: JSONDeclaration] = [:]
    private var members: [String: [(name: String, isRequired: Bool)]] = [:]

    /// The first declaration of a value applies; one that says nothing is replaced.
    func record(_ declaration: JSONDeclaration, at path: String) {
        if values[path] ?? .any == .any { values[path] = declaration }
    }

    /// A member that is read twice is required when one of the two requires it.
    func recordMember(_ name: String, of path: String, isRequired: Bool) {
        if let index = members[path]?.firstIndex(where: { $0.name == name }) {
            if isRequired { members[path]?[index].isRequired = true }
        } else {
            members[path, default: []].append((name, isRequired))
        }
    }

    func object(at path: String) -> JSONDeclaration {
        .object(
            (members[path] ?? []).map { member in
                JSONDeclaration.Member(member.name, value(at: JSONReader.join(path, member.name)), isRequired: member.isRequired)
            })
    }

    private func value(at path: String) -> JSONDeclaration {
        switch values[path] {
        case .list(_, let count): .list(value(at: "\(path)[]"), count)
        case .object, nil: members[path] == nil ? values[path] ?? .any : object(at: path)
        case let value?: value
        }
    }
}
