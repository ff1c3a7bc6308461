import CLibSSL
import Foundation

/// A certificate of version 3, in distinguished encoding, for a key and signed by another (ECDSA with SHA-256).
struct IssuedCertificate {
    /// An extension with the object identifier in digits and its value in distinguished encoding (RFC 5280 §4.2).
    struct Extension {
        var identifier: String
        var isCritical = false
        /// NULL by default.
        var value: [UInt8] = [5, 0]

        static func basicConstraints(isAuthority: Bool) -> Extension {
            Extension(identifier: "2.5.29.19", isCritical: true, value: isAuthority ? [0x30, 3, 1, 1, 0xFF] : [0x30, 0])
        }
    }

    let der: [UInt8]

    init(_ name: String, _ key: SigningKey, issuer: String, _ issuerKey: SigningKey, valid: Range<Date>, _ extensions: [Extension]) {
        let certificate = X509_new()
        defer { X509_free(certificate) }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), .random(in: 1 ... .max))
        Self.withName(issuer) { X509_set_issuer_name(certificate, $0) }
        Self.withName(name) { X509_set_subject_name(certificate, $0) }
        ASN1_TIME_set(X509_getm_notBefore(certificate), Int(valid.lowerBound.timeIntervalSince1970))
        ASN1_TIME_set(X509_getm_notAfter(certificate), Int(valid.upperBound.timeIntervalSince1970))
        X509_set_pubkey(certificate, key.key)
        for item in extensions { Self.add(item, to: certificate) }
        precondition(X509_sign(certificate, issuerKey.key, EVP_sha256()) > 0, "OpenSSL signed no certificate")
        var encoded = [UInt8](repeating: 0, count: Int(i2d_X509(certificate, nil)))
        encoded.withUnsafeMutableBufferPointer { bytes in
            var position = bytes.baseAddress
            i2d_X509(certificate, &position)
        }
        der = encoded
    }

    private static func withName(_ text: String, _ use: (OpaquePointer?) -> Int32) {
        let name = X509_NAME_new()
        defer { X509_NAME_free(name) }
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0)
        precondition(use(name) == 1)
    }

    private static func add(_ item: Extension, to certificate: OpaquePointer?) {
        let (identifier, value) = (OBJ_txt2obj(item.identifier, 1), ASN1_OCTET_STRING_new())
        ASN1_OCTET_STRING_set(value, item.value, Int32(item.value.count))
        let made = X509_EXTENSION_create_by_OBJ(nil, identifier, item.isCritical ? 1 : 0, value)
        defer {
            X509_EXTENSION_free(made)
            ASN1_OCTET_STRING_free(value)
            ASN1_OBJECT_free(identifier)
        }
        precondition(X509_add_ext(certificate, made, -1) == 1)
    }
}
