import Foundation

/// The file format, little-endian: magic, format version, number of outputs; per output its name (length, UTF-8) and six floats; one
/// signed byte per bucket and output; FNV-1a (64 bits) of all bytes before it.
extension LinearClassifier {
    private static let magic: [UInt8] = Array("COACHLIN".utf8)
    private static let formatVersion: UInt8 = 1
    private static let checksumLength = 8

    /// Every invalid file is one finding; `file` names it there.
    public init(file bytes: Data, named file: String) throws(ConfigurationRejected) {
        func rejected(_ reason: String) -> ConfigurationRejected {
            ConfigurationRejected(findings: [ConfigurationFinding(file, "", .invalid(reason))])
        }
        var reader = Reader(bytes: Array(bytes))
        guard reader.take(LinearClassifier.magic.count).elementsEqual(LinearClassifier.magic) else { throw rejected("is not a model file") }
        guard reader.take(1).first == LinearClassifier.formatVersion else { throw rejected("has an unknown format version") }
        let content = reader.bytes.dropLast(LinearClassifier.checksumLength)
        guard reader.bytes.suffix(LinearClassifier.checksumLength).elementsEqual(LinearClassifier.checksum(content)) else {
            throw rejected("does not match its checksum")
        }
        let count = Int(reader.take(1).first ?? 0)
        guard (1...Row.scalarCount).contains(count) else { throw rejected("has an invalid number of outputs") }
        var outputs: [Output] = []
        for _ in 0..<count {
            let name = String(decoding: reader.take(Int(reader.take(1).first ?? 0)), as: UTF8.self)
            outputs.append(
                Output(
                    name: name, scale: reader.float(), bias: reader.float(), slope: reader.float(), offset: reader.float(),
                    threshold: reader.float(), thresholdAfterConcern: reader.float()))
        }
        let weights = reader.take(count * MessageFeatures.bucketCount).map { Int8(bitPattern: $0) }
        guard weights.count == count * MessageFeatures.bucketCount, reader.position == content.endIndex else {
            throw rejected("has the wrong length")
        }
        self.init(outputs: outputs, weights: weights)
    }

    public var file: Data {
        var bytes = LinearClassifier.magic + [LinearClassifier.formatVersion, UInt8(outputs.count)]
        for output in outputs {
            bytes += [UInt8(output.name.utf8.count)] + output.name.utf8
            for value in [output.scale, output.bias, output.slope, output.offset, output.threshold, output.thresholdAfterConcern] {
                withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes += $0 }
            }
        }
        for bucket in 0..<MessageFeatures.bucketCount {
            for output in outputs.indices { bytes.append(UInt8(bitPattern: weight(bucket: bucket, output: output))) }
        }
        return Data(bytes + LinearClassifier.checksum(bytes[...]))
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var hash = WordHash()
        for byte in bytes { hash.add(byte) }
        return withUnsafeBytes(of: hash.value.littleEndian) { Array($0) }
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        /// Fewer bytes at the end of the file.
        mutating func take(_ count: Int) -> ArraySlice<UInt8> {
            let end = min(position + count, bytes.count)
            defer { position = end }
            return bytes[position..<end]
        }

        mutating func float() -> Float { Float(bitPattern: take(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }) }
    }
}
