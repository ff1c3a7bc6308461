import CVectorMath

/// Reads a model's file from its start. Numbers are little-endian. What is read beyond the end is missing (`take`) or 0.
struct ModelFileReader {
    let bytes: [UInt8]
    private(set) var position = 0
    /// False once a float was no number or infinite.
    private(set) var isFinite = true

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Fewer bytes at the end of the file.
    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        let end = min(position + count, bytes.count)
        defer { position = end }
        return bytes[position..<end]
    }

    /// An unsigned number of `size` bytes.
    mutating func number(_ size: Int = 1) -> Int { take(size).reversed().reduce(0) { $0 << 8 | Int($1) } }

    mutating func float() -> Float {
        let value = Float(bitPattern: UInt32(number(4)))
        isFinite = isFinite && value.isFinite
        return value
    }

    mutating func floats(_ count: Int) -> [Float] { (0..<count).map { _ in float() } }

    mutating func signedBytes(_ count: Int) -> [Int8] {
        // SAFETY: the new array has room for as many bytes as are copied.
        take(count).withUnsafeBytes { bytes in
            [Int8](unsafeUninitializedCapacity: bytes.count) { values, count in
                UnsafeMutableRawBufferPointer(values).copyMemory(from: bytes)
                count = bytes.count
            }
        }
    }

    static let checksumLength = 8

    /// FNV-1a (64 bits), little-endian.
    static func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] { checksum(bytes, vector_checksum) }

    /// FNV-1a (64 bits) over words of 8 bytes, for files of many megabytes: over bytes it was a sixth of a start.
    static func wordChecksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] { checksum(bytes, vector_word_checksum) }

    private static func checksum(_ bytes: ArraySlice<UInt8>, _ function: (UnsafePointer<UInt8>?, Int) -> UInt64) -> [UInt8] {
        // SAFETY: the function reads `count` bytes from the address, both of the buffer.
        let checksum = bytes.withUnsafeBufferPointer { function($0.baseAddress, $0.count) }
        return withUnsafeBytes(of: checksum.littleEndian) { Array($0) }
    }

    /// A text behind its length in one byte.
    mutating func text() -> ArraySlice<UInt8> { take(number()) }

    /// A name, and six floats.
    mutating func output() -> LinearClassifier.Output {
        LinearClassifier.Output(
            name: String(decoding: text(), as: UTF8.self), scale: float(), bias: float(), slope: float(), offset: float(),
            threshold: float(), thresholdAfterConcern: float())
    }
}

extension LinearClassifier.Output {
    /// What `ModelFileReader.output` reads.
    var bytes: [UInt8] {
        let values = [scale, bias, slope, offset, threshold, thresholdAfterConcern]
        return values.reduce(into: [UInt8(name.utf8.count)] + name.utf8) { bytes, value in
            withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes += $0 }
        }
    }
}
