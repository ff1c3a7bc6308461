import CLibSSL

/// A key on P-256 that signs as stores do (ES256), made anew for each test.
// SAFETY: complete after `init`, then only read.
package final class SigningKey: @unchecked Sendable {
    let key: OpaquePointer

    package init() {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "prime256v1") == 1,
            EVP_PKEY_generate(context, &made) == 1, let made
        else { preconditionFailure("OpenSSL made no key") }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    /// The coordinates of the public point, 32 bytes each.
    package var point: (x: [UInt8], y: [UInt8]) {
        var encoded = [UInt8](repeating: 0, count: 65)
        var count = 0
        precondition(EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, &encoded, encoded.count, &count) == 1 && count == 65)
        return (Array(encoded[1..<33]), Array(encoded[33...]))
    }

    /// In the form of JSON Web Signatures (RFC 7518 §3.4): both numbers, 32 bytes each.
    package func signature(of message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var encoded = [UInt8](repeating: 0, count: 80)
        var count = encoded.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &encoded, &count, message, message.count) == 1
        else { preconditionFailure("OpenSSL signed nothing") }
        let numbers = encoded.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &position, count)
        }
        defer { ECDSA_SIG_free(numbers) }
        return [ECDSA_SIG_get0_r(numbers), ECDSA_SIG_get0_s(numbers)].flatMap { number in
            var bytes = [UInt8](repeating: 0, count: 32)
            precondition(BN_bn2binpad(number, &bytes, 32) == 32)
            return bytes
        }
    }
}
