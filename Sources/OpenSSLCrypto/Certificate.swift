import CLibSSL

/// An X.509 certificate.
public final class Certificate: Sendable {
    // What OpenSSL computes from it on first use it computes under a lock.
    private let object: OpenSSLObject
    private var pointer: OpaquePointer { object.pointer }

    /// From its distinguished encoding; nil when the bytes are not exactly one certificate.
    public init?(der: [UInt8]) {
        defer { ERR_clear_error() }
        let parsed = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var position = bytes.baseAddress
            guard let parsed = d2i_X509(nil, &position, bytes.count) else { return nil }
            guard position == bytes.baseAddress.map({ $0 + bytes.count }) else {
                X509_free(parsed)
                return nil
            }
            return parsed
        }
        guard let object = OpenSSLObject(parsed, free: { X509_free($0) }) else { return nil }
        self.object = object
    }

    /// Its key, when it is one on the curve P-256.
    public var p256Key: PublicKey? { PublicKey(p256Of: pointer) }

    /// Whether it has an extension with this object identifier, such as "2.5.29.19".
    public func hasExtension(_ identifier: String) -> Bool {
        guard let object = OBJ_txt2obj(identifier, 1) else { return false }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(pointer, object, -1) >= 0
    }

    /// Whether the chain of exactly this certificate, the intermediate one and one of the roots is valid at a time: signatures, dates, rights of
    /// authorities, policies where the chain requires them, and no critical extension that OpenSSL does not know (RFC 5280 §6).
    public func isTrusted(through intermediate: Certificate, roots: [Certificate], atUnixSeconds seconds: Int) -> Bool {
        guard let store = X509_STORE_new(), let others = OPENSSL_sk_new_null(), let context = X509_STORE_CTX_new() else { return false }
        defer {
            X509_STORE_CTX_free(context)
            // The certificates belong to their owners.
            OPENSSL_sk_free(others)
            X509_STORE_free(store)
            ERR_clear_error()
        }
        for root in roots where X509_STORE_add_cert(store, root.pointer) != 1 { return false }
        guard OPENSSL_sk_push(others, UnsafeRawPointer(intermediate.pointer)) == 1,
            X509_STORE_CTX_init(context, store, pointer, others) == 1, let parameters = X509_STORE_CTX_get0_param(context)
        else { return false }
        X509_VERIFY_PARAM_set_time(parameters, seconds)
        // Else OpenSSL accepts critical policy constraints and ignores them. Any policy will do (RFC 5280 §6.1.1, anyPolicy).
        guard X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_POLICY_CHECK)) == 1,
            let anyPolicy = OBJ_txt2obj("2.5.29.32.0", 1)
        else { return false }
        guard X509_VERIFY_PARAM_add0_policy(parameters, anyPolicy) == 1 else {
            ASN1_OBJECT_free(anyPolicy)
            return false
        }
        // 112 bits: no SHA-1 in signatures, no RSA keys of under 2,048 bits.
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        guard X509_verify_cert(context) == 1, let chain = X509_STORE_CTX_get0_chain(context), OPENSSL_sk_num(chain) == 3 else {
            return false
        }
        return [self, intermediate].enumerated().allSatisfy { index, certificate in
            guard let found = OPENSSL_sk_value(chain, Int32(index)) else { return false }
            return X509_cmp(OpaquePointer(found), certificate.pointer) == 0
        }
    }
}
