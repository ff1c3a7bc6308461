/// The released answer of a turn: one append-only text. Everything else is a cursor on it.
struct Answer: Sendable {
    private(set) var bytes: [UInt8] = []

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var end: Int { bytes.count }

    /// Appends whole UTF-8 characters.
    mutating func append(_ piece: [UInt8]) { bytes.append(contentsOf: piece) }

    /// The start of the character that contains byte `position`; `position` itself when it is a boundary or beyond the end.
    func characterStart(at position: Int) -> Int {
        var start = position
        while start > 0, start < bytes.count, bytes[start] & 0xC0 == 0x80 { start -= 1 }
        return start
    }

    /// Up to `maximum` bytes from `position`, ending between two characters; empty when the cursor is at the end.
    /// `maximum` is at least 4, so that a character always fits.
    func read(from position: Int, maximum: Int) -> ArraySlice<UInt8> {
        guard position < bytes.count else { return [] }
        let limit = position + max(maximum, 4)
        let end = limit >= bytes.count ? bytes.count : characterStart(at: limit)
        return bytes[position..<end]
    }
}
