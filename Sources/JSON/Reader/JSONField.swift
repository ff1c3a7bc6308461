/// Declares type and bounds of a value for `JSONReader`, such as `.text(1...80)`.
public struct JSONField<Value> {
    /// Reads the value, or reports what is wrong with it.
    public let read: (JSONReader) throws(JSONFinding) -> Value

    public init(_ read: @escaping (JSONReader) throws(JSONFinding) -> Value) { self.read = read }
}

extension JSONField<String> {
    /// Text with a length in Unicode scalars. Unless length 0 is allowed, it must not be only white space.
    public static func text(_ length: ClosedRange<Int>) -> Self {
        Self { (json) throws(JSONFinding) in
            if json.declares(.text(length)) { return "" }
            guard let text = json.value.string else { return try json.reject(.wrongType(expected: .string), "") }
            // A text has at most as many scalars as bytes, so most texts need no counting.
            if text.utf8.count > length.upperBound, text.unicodeScalars.count > length.upperBound {
                try json.report(.tooLong(limit: length.upperBound))
            } else if length.lowerBound > 0, text.unicodeScalars.allSatisfy(\.properties.isWhitespace) {
                try json.report(.empty)
            } else if text.utf8.count < length.lowerBound * 4, text.unicodeScalars.count < length.lowerBound {
                try json.report(.invalid("must have at least \(length.lowerBound) characters"))
            }
            return text
        }
    }

    /// Text that is declared as one of `values`. Another one is no finding: the caller rejects it with an error of its own.
    public static func text(_ length: ClosedRange<Int>, declaredAs values: [String]) -> Self {
        Self { (json) throws(JSONFinding) in try json.declares(.choice(values)) ? "" : Self.text(length).read(json) }
    }
}

extension JSONField<Int> {
    /// A whole number within bounds.
    public static func integer(_ bounds: ClosedRange<Int>) -> Self {
        Self { (json) throws(JSONFinding) in
            if json.declares(.integer(bounds)) { return bounds.lowerBound }
            guard let number = json.value.integer.flatMap({ Int(exactly: $0) }), bounds.contains(number) else {
                return try json.reject(
                    .invalid("must be a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"), bounds.lowerBound)
            }
            return number
        }
    }
}

extension JSONField<Double> {
    /// A number within bounds.
    public static func number(_ bounds: ClosedRange<Double>) -> Self {
        Self { (json) throws(JSONFinding) in
            if json.declares(.number) { return bounds.lowerBound }
            guard let number = json.value.number, bounds.contains(number) else {
                return try json.reject(.invalid("must be a number from \(bounds.lowerBound) to \(bounds.upperBound)"), bounds.lowerBound)
            }
            return number
        }
    }
}

extension JSONField where Value: RawRepresentable & CaseIterable, Value.RawValue: JSONReadable {
    /// A case of an enumeration, by its raw value.
    public static var choice: Self {
        Self { (json) throws(JSONFinding) in
            // Every enumeration that is read has a case.
            let placeholder = Value.allCases[Value.allCases.startIndex]
            if json.declares(Self.declaredChoice) { return placeholder }
            let findings = json.session.findings.count
            let raw = try Value.RawValue(json)
            guard !json.isPlaceholder, json.session.findings.count == findings else { return placeholder }
            guard let value = Value(rawValue: raw) else {
                return try json.reject(
                    .invalid("must be \(Value.allCases.map { "\($0.rawValue)" }.joined(separator: " or "))"), placeholder)
            }
            return value
        }
    }

    private static var declaredChoice: JSONDeclaration {
        let texts = Value.allCases.compactMap { $0.rawValue as? String }
        return texts.isEmpty ? .any : .choice(texts)
    }
}

extension JSONField {
    /// A string that `parse` converts; nil from `parse` is a finding.
    /// - Parameters:
    ///   - expected: completes the sentence "must be …" in the finding.
    ///   - placeholder: any value, used only while findings or declarations are collected.
    ///   - declared: nil: a text, described by `expected`.
    public static func parsed(
        _ expected: String, placeholder: @autoclosure @escaping () -> Value, declared: JSONDeclaration? = nil,
        _ parse: @escaping (String) -> Value?
    ) -> Self {
        Self { (json) throws(JSONFinding) in
            if json.declares(declared ?? .parsed(expected)) { return placeholder() }
            guard let text = json.value.string else { return try json.reject(.wrongType(expected: .string), placeholder()) }
            guard let value = parse(text) else { return try json.reject(.invalid("must be \(expected)"), placeholder()) }
            return value
        }
    }

    /// An object that `body` reads.
    public static func object(_ body: @escaping (JSONReader) throws(JSONFinding) -> Value) -> Self {
        Self { (json) throws(JSONFinding) in
            if json.declares(.object([])) || json.value.members != nil { return try body(json) }
            return try body(try json.reject(.wrongType(expected: .object), json.placeholder))
        }
    }

    /// An array with a bounded number of elements.
    public static func list<Element>(_ count: ClosedRange<Int>, _ element: JSONField<Element>) -> Self where Value == [Element] {
        Self { (json) throws(JSONFinding) in
            try json.elements(count).map { (json) throws(JSONFinding) in try element.read(json) }
        }
    }
}
