/// The file format, little-endian: magic, format version, number of outputs; per output its name (length, UTF-8) and six floats; one
/// signed byte per bucket and output; FNV-1a (64 bits) of all bytes before it.
extension LinearClassifier {
    private static let magic: [UInt8] = Array("COACHLIN".utf8)
    private static let formatVersion: UInt8 = 1

    /// Every invalid file is one finding; `file` names it there.
    public init(file bytes: [UInt8], named file: String) throws(ConfigurationRejected) {
        func rejected(_ reason: String) -> ConfigurationRejected {
            ConfigurationRejected(findings: [ConfigurationFinding(file, "", .invalid(reason))])
        }
        var reader = ModelFileReader(bytes: bytes)
        guard reader.take(LinearClassifier.magic.count).elementsEqual(LinearClassifier.magic) else { throw rejected("is not a model file") }
        guard reader.take(1).first == LinearClassifier.formatVersion else { throw rejected("has an unknown format version") }
        let content = reader.bytes.dropLast(ModelFileReader.checksumLength)
        guard reader.bytes.suffix(ModelFileReader.checksumLength).elementsEqual(ModelFileReader.checksum(content)) else {
            throw rejected("does not match its checksum")
        }
        let count = Int(reader.take(1).first ?? 0)
        guard (1...Row.scalarCount).contains(count) else { throw rejected("has an invalid number of outputs") }
        let outputs = (0..<count).map { _ in reader.output() }
        let weights = reader.signedBytes(count * MessageFeatures.bucketCount)
        guard weights.count == count * MessageFeatures.bucketCount, reader.position == content.endIndex, reader.isFinite else {
            throw rejected("has the wrong length or impossible numbers")
        }
        self.init(outputs: outputs, weights: weights)
    }

    public var file: [UInt8] {
        var bytes = LinearClassifier.magic + [LinearClassifier.formatVersion, UInt8(outputs.count)]
        for output in outputs { bytes += output.bytes }
        for bucket in 0..<MessageFeatures.bucketCount {
            for output in outputs.indices { bytes.append(UInt8(bitPattern: weight(bucket: bucket, output: output))) }
        }
        return bytes + ModelFileReader.checksum(bytes[...])
    }
}
