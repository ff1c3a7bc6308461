/// The checksum of ZIP, PNG and Amazon's event stream (ISO 3309).
public struct CRC32: Sendable {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    private var state: UInt32 = .max

    public init() {}

    public var value: UInt32 { ~state }

    public mutating func update(_ bytes: [UInt8]) { update(bytes[...]) }

    public mutating func update(_ bytes: ArraySlice<UInt8>) {
        Self.table.withUnsafeBufferPointer { table in
            var state = state
            bytes.withUnsafeBufferPointer { bytes in
                for byte in bytes { state = state >> 8 ^ table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] }
            }
            self.state = state
        }
    }

    public static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var checksum = CRC32()
        checksum.update(bytes)
        return checksum.value
    }
}
