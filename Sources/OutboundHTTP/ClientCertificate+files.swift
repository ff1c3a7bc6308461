import Glibc

extension ClientCertificate {
    /// Reads certificate and key from PEM files. Blocks.
    /// - Throws: `OutboundError` (`invalidRequest`), with the path that cannot be read.
    public init(chainFile: String, keyFile: String) throws(OutboundError) {
        self.init(chain: try Self.bytes(of: chainFile), key: try Self.bytes(of: keyFile))
    }

    /// Bytes that are read at most; a file of some certificates has a few KiB.
    private static let longestFile = 1 << 20

    private static func bytes(of path: String) throws(OutboundError) -> [UInt8] {
        guard let file = fopen(path, "re") else { throw OutboundError(.invalidRequest, "\(path) cannot be read") }
        defer { fclose(file) }
        // SAFETY: `fread` writes at most the capacity and returns how many bytes it has written.
        let bytes = [UInt8](unsafeUninitializedCapacity: longestFile) { buffer, count in
            count = fread(buffer.baseAddress, 1, buffer.count, file)
        }
        guard !bytes.isEmpty, ferror(file) == 0 else { throw OutboundError(.invalidRequest, "\(path) cannot be read, or is empty") }
        return bytes
    }
}
