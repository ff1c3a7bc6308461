extension Script {
    /// Parses the scripts that are embedded as `[[sim {json}]]` in a text, in their order.
    ///
    /// The text around them is ignored: the gateway puts the user's message, delimited as data, into a longer prompt.
    static func embedded(in text: String) throws(ScriptError) -> [Script] {
        var scripts: [Script] = []
        for instruction in instructions(in: Array(text.utf8)) {
            scripts.append(try Script(json: instruction.json))
        }
        return scripts
    }

    /// The text without its embedded scripts.
    static func removingEmbedded(from text: String) -> String {
        let bytes = Array(text.utf8)
        var kept: [UInt8] = []
        var position = 0
        for instruction in instructions(in: bytes) {
            kept += bytes[position..<instruction.range.lowerBound]
            position = instruction.range.upperBound
        }
        return String(decoding: kept + bytes[position...], as: UTF8.self)
    }

    private typealias Instruction = (range: Range<Int>, json: ArraySlice<UInt8>)

    private static func instructions(in bytes: [UInt8]) -> [Instruction] {
        let opening = Array("[[sim".utf8)
        let closing = Array("]]".utf8)
        var found: [Instruction] = []
        var index = 0
        while index + opening.count < bytes.count {
            guard bytes[index] == opening[0], bytes[index...].starts(with: opening) else {
                index += 1
                continue
            }
            var start = index + opening.count
            while start < bytes.count, bytes[start] == UInt8(ascii: " ") { start += 1 }
            guard let end = endOfObject(in: bytes, from: start), bytes[end...].starts(with: closing) else {
                index += opening.count
                continue
            }
            found.append((index..<(end + closing.count), bytes[start..<end]))
            index = end + closing.count
        }
        return found
    }

    /// The index after the object that begins at `start`; nil if there is none. Braces inside strings do not count.
    private static func endOfObject(in bytes: [UInt8], from start: Int) -> Int? {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "{") else { return nil }
        var depth = 0
        var insideString = false
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\\") where insideString: index += 1
            case UInt8(ascii: "\""): insideString.toggle()
            case UInt8(ascii: "{") where !insideString: depth += 1
            case UInt8(ascii: "}") where !insideString:
                depth -= 1
                if depth == 0 { return index + 1 }
            default: break
            }
            index += 1
        }
        return nil
    }
}
