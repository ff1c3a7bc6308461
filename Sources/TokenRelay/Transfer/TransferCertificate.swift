// One of the four files that touch OpenSSL's pointers.

import CLibSSL
import OutboundHTTP

/// A TLS client certificate that was read from files and checked.
public struct TransferCertificate: Sendable, Equatable {
    let certificate: ClientCertificate

    /// Reads and checks both PEM files. The chain is the certificate, then intermediate ones.
    /// - Throws: when a file cannot be read, the key is encrypted or not the certificate's, or the certificate has expired.
    public init(chainFile: String, keyFile: String) throws(UnusableRoute) {
        do throws(OutboundError) {
            certificate = try ClientCertificate(chainFile: chainFile, keyFile: keyFile)
        } catch {
            throw UnusableRoute(description: error.message)
        }
        if let defect = Self.defect(of: certificate) { throw UnusableRoute(description: defect) }
    }

    // SAFETY: each pointer that OpenSSL returns is freed before the function returns; the buffers are used by memory BIOs that are freed
    // inside `withUnsafeBytes`. The password callback prevents OpenSSL from prompting on the terminal.
    private static func defect(of certificate: ClientCertificate) -> String? {
        let leaf = read(certificate.chain) { PEM_read_bio_X509($0, nil, nil, nil) }
        defer { X509_free(leaf) }
        guard let leaf else { return "the certificate is not in PEM" }
        let key = read(certificate.key) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }
        defer { EVP_PKEY_free(key) }
        guard let key else { return "the key is not in PEM, or encrypted" }
        guard X509_check_private_key(leaf, key) == 1 else { return "the key does not belong to the certificate" }
        guard X509_cmp_current_time(X509_get0_notAfter(leaf)) > 0 else { return "the certificate has expired" }
        return nil
    }

    private static func read(_ bytes: [UInt8], _ parse: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        defer { ERR_clear_error() }
        return bytes.withUnsafeBytes { buffer in
            guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count)) else { return nil }
            defer { BIO_free(bio) }
            return parse(bio)
        }
    }
}
