/// Writes ASN.1 in its distinguished encoding (ITU-T X.690): what keys and signatures are made of.
enum DER {
    static func sequence(_ elements: [UInt8]...) -> [UInt8] { element(0x30, Array(elements.joined())) }

    /// A positive number from its bytes, the highest first.
    static func integer(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var content = Array(bytes.drop { $0 == 0 })
        // The highest bit of the first byte would be the sign.
        if content.first.map({ $0 >= 0x80 }) ?? true { content.insert(0, at: 0) }
        return element(0x02, content)
    }

    static func bitString(_ bytes: [UInt8]) -> [UInt8] { element(0x03, [0] + bytes) }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
        var length: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}
