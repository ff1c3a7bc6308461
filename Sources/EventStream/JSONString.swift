/// One JSON string out of its context.
public enum JSONString {
    /// Appends the unescaped UTF-8 of the string whose opening quote stands before `start`, and returns the place behind its closing quote.
    ///
    /// nil unless the string is clean, that is whole, valid, and without lone surrogates, malformed UTF-8 or U+0000: who asks this way has
    /// another way, `JSONCursor`, for whatever is special. Then `output` may hold a part of it.
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

    /// The place behind the closing quote of a string of printable ASCII without escapes; nil for any other.
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
