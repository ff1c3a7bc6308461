import JSON

/// Members that are null, absent or of an unexpected type are ignored by all of these.
extension JSONCursor {
    /// Enters the object that comes next; false when something else does.
    mutating func entersObject() throws(JSONError) -> Bool {
        guard try peek() == .object else { return false }
        try beginObject()
        return true
    }

    /// Enters the array that comes next; false when something else does.
    mutating func entersArray() throws(JSONError) -> Bool {
        guard try peek() == .array else { return false }
        try beginArray()
        return true
    }

    mutating func text() throws(JSONError) -> String? {
        try peek() == .string ? try readString() : nil
    }

    mutating func flag() throws(JSONError) -> Bool? {
        try peek() == .bool ? try readBool() : nil
    }

    /// A number of tokens; anything else is unknown. An absurd one is bounded, so that sums do not overflow.
    mutating func count() throws(JSONError) -> Int? {
        guard try peek() == .number else { return nil }
        let number: Double
        do throws(JSONError) {
            number = try readNumber()
        } catch {
            // Larger than any number of tokens: the cursor stands behind it.
            guard error.kind == .numberOutOfRange else { throw error }
            return nil
        }
        return Int(exactly: number).flatMap { $0 >= 0 ? min($0, 1 << 50) : nil }
    }

    /// Appends a string of the answer.
    mutating func appendText(to text: inout [UInt8]) throws(JSONError) {
        guard try peek() == .string else { return }
        let start = text.count
        try readString(into: &text)
        text.removeNULs(from: start)
    }

    /// The UTF-8 bytes of a string that is not kept; `scratch` is the same afterwards.
    mutating func countText(using scratch: inout [UInt8]) throws(JSONError) -> Int {
        let start = scratch.count
        try appendText(to: &scratch)
        defer { scratch.removeSubrange(start...) }
        return scratch.count - start
    }
}

extension [UInt8] {
    /// PostgreSQL cannot keep U+0000, so it is dropped from answers (CONTRACT §4).
    mutating func removeNULs(from start: Int) {
        if self[start...].contains(0) { replaceSubrange(start..., with: self[start...].filter { $0 != 0 }) }
    }
}
