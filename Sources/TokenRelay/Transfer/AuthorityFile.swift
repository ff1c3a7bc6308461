/// A PEM file of the only certificate authorities to trust.
public enum AuthorityFile {
    /// Reads a file as each connection does later. Blocks.
    /// - Throws: when the file cannot be read or has no certificate.
    public static func check(_ path: String) throws(UnusableRoute) {
        do throws(TransferFailure) {
            _ = try TLSContext(authorityFile: path)
        } catch {
            throw UnusableRoute(description: "\(path) cannot be read, or has no certificate in PEM")
        }
    }
}
