import Glibc

/// The released text of a turn, append-only UTF-8. Each reader has a cursor on it.
struct Answer: Sendable {
    /// The least number of bytes by which the capacity grows: about twenty words.
    private static let leastRoom = 128

    private(set) var bytes: [UInt8] = []

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    /// The number of bytes: the position after the last character.
    var end: Int { bytes.count }

    /// Appends whole UTF-8 characters. U+0000 is dropped, because a PostgreSQL text column cannot hold it (CONTRACT §4).
    mutating func append(_ piece: UnsafeBufferPointer<UInt8>) {
        guard let start = piece.baseAddress else { return }
        makeRoom(for: piece.count)
        // SAFETY: `start` points to `piece.count` bytes, valid during the call.
        if memchr(start, 0, piece.count) == nil {
            bytes.append(contentsOf: piece)
        } else {
            bytes.append(contentsOf: piece.lazy.filter { $0 != 0 })
        }
    }

    mutating func append(_ piece: ArraySlice<UInt8>) { piece.withUnsafeBufferPointer { append($0) } }

    /// Grows the capacity by a quarter. An array doubles by itself, which would waste memory with thousands of growing answers.
    private mutating func makeRoom(for count: Int) {
        let needed = bytes.count + count
        guard needed > bytes.capacity else { return }
        bytes.reserveCapacity(max(needed, bytes.count + max(bytes.count / 4, Self.leastRoom)))
    }

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
