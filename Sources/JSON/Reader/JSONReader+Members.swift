extension JSONReader {
    /// Reads a required member.
    public func required<Value: JSONReadable>(_ name: String, as type: Value.Type = Value.self) throws(JSONFinding) -> Value {
        try Value(try requiredMember(name))
    }

    /// Reads a required member within bounds.
    public func required<Value>(_ name: String, _ field: JSONField<Value>) throws(JSONFinding) -> Value {
        try field.read(try requiredMember(name))
    }

    /// Reads a member; nil when it is absent or `null`.
    public func optional<Value: JSONReadable>(_ name: String, as type: Value.Type = Value.self) throws(JSONFinding) -> Value? {
        guard let member = try member(name) else { return nil }
        return try Value(member)
    }

    /// Reads a member within bounds; nil when it is absent or `null`.
    public func optional<Value>(_ name: String, _ field: JSONField<Value>) throws(JSONFinding) -> Value? {
        guard let member = try member(name) else { return nil }
        return try field.read(member)
    }

    /// The reader of a required object, for objects whose member names are data and not declared.
    public func object(_ name: String) throws(JSONFinding) -> JSONReader {
        let member = try requiredMember(name)
        if member.declares(.object([])) { return member }
        guard member.value.members == nil else { return member }
        return try member.reject(.wrongType(expected: .object), member.placeholder)
    }

    /// A member of any type; nil when it is absent or `null`. A flaw anywhere inside is a finding where flaws are rejected.
    public func value(_ name: String) throws(JSONFinding) -> JSONValue? {
        guard let member = try member(name), !member.declares(.any) else { return nil }
        if let flaw = session.flaw(inside: member.textPath) { try member.report(.init(flaw)) }
        return member.value
    }

    /// The readers of a required array's elements, for elements that are read one after another.
    public func elements(_ name: String, _ count: ClosedRange<Int>) throws(JSONFinding) -> [JSONReader] {
        try requiredMember(name).elements(count)
    }

    /// The elements of this array, no more than `count` allows. Another type, and a number of elements outside `count`, is a finding.
    func elements(_ count: ClosedRange<Int> = 0...Int.max) throws(JSONFinding) -> [JSONReader] {
        if declares(.list(.any, count)) { return [JSONReader(.null, path: "\(path)[]", textPath: "", session, isPlaceholder: false)] }
        guard let elements = value.elements else { return try reject(.wrongType(expected: .array), []) }
        if !count.contains(elements.count) {
            try report(.invalid("must have \(count.lowerBound) to \(count.upperBound) elements, has \(elements.count)"))
        }
        return try elements.prefix(count.upperBound).enumerated().map { (index, element) throws(JSONFinding) in
            let reader = JSONReader(element, path: "\(path)[\(index)]", textPath: "\(textPath)[\(index)]", session, isPlaceholder: false)
            if let flaw = session.flaw(at: reader.textPath) { try reader.report(.init(flaw)) }
            return reader
        }
    }

    /// The names of this object's members, in the order of the text.
    public var names: [String] { value.members?.map(\.key) ?? [] }

    /// Whether the object has the member, also with the value `null`. A merge patch (RFC 7396) removes a member that is `null` and keeps
    /// one that is absent.
    public func contains(_ name: String) -> Bool {
        if session.recorder != nil { return true }
        let spellings = spellings(of: name)
        return value.members?.contains { spellings.contains($0.key) } ?? false
    }

    /// Reports each member that was not read before this call. Only readers that collect findings know which were read.
    public func rejectUnknown(besides ignored: Set<String> = []) throws(JSONFinding) {
        guard session.collects else { return }
        for name in names where !ignored.contains(name) && !session.isRead(name, of: path) { try report(name, .unknown) }
    }

    /// Reports the flaws of the text in this object, also of members that are only kept and not read, each as one of its member.
    public func rejectFlaws() throws(JSONFinding) {
        let start = textPath.isEmpty ? "" : "\(textPath)."
        // Compares bytes: see `ReadingSession.makeFlawsInside`.
        for flaw in session.flaws where flaw.path.utf8.starts(with: start.utf8) {
            if session.isFull { return }
            let name = flaw.path.utf8.dropFirst(start.utf8.count).prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "[") }
            if !name.isEmpty { try report(String(Substring(name)), .init(flaw)) }
        }
    }

    /// A member; nil when it is absent or `null`.
    public func member(_ name: String) throws(JSONFinding) -> JSONReader? {
        if isPlaceholder { return nil }
        if let recorder = session.recorder {
            recorder.recordMember(name, of: path, isRequired: false)
            return declaredMember(name)
        }
        guard let members = value.members else { return try reject(.wrongType(expected: .object), nil) }
        session.markRead(name, of: path)
        var found: JSONReader?
        for spelling in spellings(of: name) {
            let textPath = Self.join(textPath, spelling)
            if let flaw = session.flaw(at: textPath) { try report(name, .init(flaw)) }
            // Of repeated members the last applies, as in PostgreSQL and RFC 7519 §4.
            guard let value = members.last(where: { $0.key.utf8.elementsEqual(spelling.utf8) })?.value, value != .null else { continue }
            if let found, found.value != value { try report(name, .contradictory) }
            found = found ?? JSONReader(value, path: path(to: name), textPath: textPath, session, isPlaceholder: false)
        }
        return found
    }

    private func requiredMember(_ name: String) throws(JSONFinding) -> JSONReader {
        if let member = try member(name) {
            session.recorder?.recordMember(name, of: path, isRequired: true)
            return member
        }
        // The type of the object is reported by `member`.
        if value.members != nil { try report(name, .missing) }
        return JSONReader(.null, path: path(to: name), textPath: "", session, isPlaceholder: true)
    }

    /// Stands for this value after it was reported, so that the declarations below it are read without further findings.
    var placeholder: JSONReader { JSONReader(.null, path: path, textPath: textPath, session, isPlaceholder: true) }

    private func spellings(of name: String) -> [String] {
        guard session.spelling == .snakeOrCamelCase else { return [name] }
        let camelCase = Self.camelCase(name)
        return camelCase == name ? [name] : [name, camelCase]
    }

    /// `conversation_id` → `conversationId`.
    private static func camelCase(_ name: String) -> String {
        var text: [UInt8] = []
        var startsWord = false
        for byte in name.utf8 {
            if byte == UInt8(ascii: "_") {
                startsWord = true
            } else {
                let isSmall = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                text.append(startsWord && isSmall ? byte & ~0x20 : byte)
                startsWord = false
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
