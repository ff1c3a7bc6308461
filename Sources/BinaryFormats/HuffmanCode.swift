/// A canonical Huffman code (RFC 1951 §3.2.2), given by the length of each symbol's code; a length of 0 is a symbol without a code.
struct HuffmanCode {
    /// How many codes have each length.
    private var counts = [Int](repeating: 0, count: 16)
    /// Ordered by code.
    private let symbols: [Int]

    /// - Parameter allowsSingle: also a code of no symbol, or of one that has a single bit (§3.2.7). All others must use every sequence of bits.
    init(_ lengths: ArraySlice<Int>, allowsSingle: Bool = false) throws(DeflateError) {
        self.init(complete: Array(lengths))
        var free = 1
        for length in 1...15 {
            free = free << 1 - counts[length]
            guard free >= 0 else { throw DeflateError() }
        }
        guard free == 0 || allowsSingle && symbols.count == counts[1] else { throw DeflateError() }
    }

    /// For lengths that are known to be those of a complete code.
    init(complete lengths: [Int]) {
        for length in lengths where length > 0 { counts[length] += 1 }
        // Where the next symbol of each length is put.
        var next = [0]
        for count in counts { next.append(next[next.count - 1] + count) }
        var symbols = [Int](repeating: 0, count: next[next.count - 1])
        for (symbol, length) in lengths.enumerated() where length > 0 {
            symbols[next[length]] = symbol
            next[length] += 1
        }
        self.symbols = symbols
    }

    /// Reads a code bit by bit: its cost is bounded by the length of the stream.
    func symbol(_ bits: inout BitReader) throws(DeflateError) -> Int {
        var code = 0
        // The first code of a length, and where its symbols begin.
        var first = 0
        var index = 0
        for length in 1...15 {
            code = code << 1 | (try bits.read(1))
            let count = counts[length]
            if code - first < count { return symbols[index + code - first] }
            index += count
            first = (first + count) << 1
        }
        throw DeflateError()
    }
}

/// Bits of bytes, the lowest first (RFC 1951 §3.1.1).
struct BitReader {
    private let bytes: ArraySlice<UInt8>
    private var offset: Int
    /// Bits that were read of the byte at `offset`.
    private var used = 0

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        offset = bytes.startIndex
    }

    /// Whether nothing is left but the rest of a byte that was begun.
    var isAtEnd: Bool { offset + (used > 0 ? 1 : 0) == bytes.endIndex }

    mutating func read(_ count: Int) throws(DeflateError) -> Int {
        var value = 0
        for index in 0..<count {
            guard offset < bytes.endIndex else { throw DeflateError() }
            value |= (Int(bytes[offset]) >> used & 1) << index
            used += 1
            if used == 8 {
                used = 0
                offset += 1
            }
        }
        return value
    }

    /// The data of a stored block, which begin at a whole byte with their length and its complement.
    mutating func takeStored() throws(DeflateError) -> ArraySlice<UInt8> {
        if used > 0 {
            used = 0
            offset += 1
        }
        let length = try read(16)
        guard try read(16) == ~length & 0xFFFF, length <= bytes.endIndex - offset else { throw DeflateError() }
        defer { offset += length }
        return bytes[offset..<offset + length]
    }
}
