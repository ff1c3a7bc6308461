/// Reads a single JSON string at a known position. A fast path for callers that have already parsed the text around it.
public enum JSONString {
    /// Appends the unescaped UTF-8 of the string whose first character is at `start`, and returns the index after its closing quote.
    ///
    /// Returns nil unless the string is clean: complete, valid, and without lone surrogates, malformed UTF-8 or U+0000. `output` may then
    /// hold a part of it, and the caller falls back to `JSONCursor`.
    public static func appendClean(
        of text: UnsafeBufferPointer<UInt8>, from start: Int, to output: inout [UInt8]
    ) -> Int? {
        var scanner = StringScanner(index: start, isWanted: true)
        do throws(JSONError) {
            try scanner.scan(text, into: &output)
        } catch {
            return nil
        }
        return scanner.flaws.isEmpty ? scanner.index : nil
    }

    /// The index after the closing quote of a string of printable ASCII without escapes; nil for any other string.
    public static func skipPlain(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var index = start
        while index < text.count {
            let byte = text[index]
            if byte == Byte.quote { return index + 1 }
            guard byte >= Byte.space, byte < 0x7F, byte != Byte.backslash else { return nil }
            index += 1
        }
        return nil
    }
}
