import CoachCore
import Testing

@testable import OpenSSLCrypto

/// The examples of the standards, and keys that must not verify anything.
@Suite("Signatures")
struct SignatureTests {
    /// The payload of RFC 7515, appendices A.1 to A.3.
    private static let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let key: PublicKey?
        let message: String
        let signature: String
    }

    private static let modulus = bytes(
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOW"
            + "vG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9k"
            + "G4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ")
    private static let x = bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
    private static let y = bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")

    static let examples = [
        Example(
            testDescription: "RFC 7515 A.2, RS256", key: PublicKey(rsaModulus: modulus, exponent: [1, 0, 1]),
            message: "eyJhbGciOiJSUzI1NiJ9.\(payload)",
            signature:
                "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKB"
                + "YNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6Bf"
                + "I7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"),
        Example(
            testDescription: "RFC 7515 A.3, ES256", key: PublicKey(p256X: x, y: y), message: "eyJhbGciOiJFUzI1NiJ9.\(payload)",
            signature: "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"),
        Example(
            testDescription: "RFC 8037 A.4, EdDSA", key: PublicKey(ed25519: bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")),
            message: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            signature: "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"),
    ]

    private static func bytes(_ text: String) -> [UInt8] { Base64URL.decode(text.utf8) ?? [] }

    @Test("the example of the standard is verified, and no change of it", arguments: examples)
    func standard(_ example: Example) throws {
        let (key, signature) = (try #require(example.key), Self.bytes(example.signature))
        let message = Array(example.message.utf8)
        #expect(key.isSignature(signature, of: message[...]))
        #expect(key.isSignature(signature, of: ([0] + message)[1...]), "a slice begins where it begins")
        for index in stride(from: 0, to: signature.count, by: 7) {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.isSignature(changed, of: message[...]), "byte \(index)")
        }
        #expect(!key.isSignature(signature, of: message.dropLast()) && !key.isSignature(signature, of: []))
        for wrong in [[], Array(signature.dropLast()), signature + [0], [UInt8](repeating: 0, count: signature.count)] {
            #expect(!key.isSignature(wrong, of: message[...]), "\(wrong.count) bytes")
        }
        for other in Self.examples where other.testDescription != example.testDescription {
            #expect(other.key?.isSignature(signature, of: message[...]) == false)
        }
        // It verifies still: a failure leaves nothing behind.
        #expect(key.isSignature(signature, of: message[...]))
    }

    @Test("ES256 signatures are two numbers of 32 bytes, not the form that OpenSSL writes")
    func derSignature() throws {
        let example = Self.examples[1]
        let signature = Self.bytes(example.signature)
        let der = DER.sequence(DER.integer(signature[..<32]), DER.integer(signature[32...]))
        #expect(try !#require(example.key).isSignature(der, of: Array(example.message.utf8)[...]))
    }

    @Test("numbers that are no key, and keys that everybody could sign with, are rejected")
    func weakKeys() {
        #expect(PublicKey(rsaModulus: Self.modulus, exponent: [1]) == nil, "everything would be its own signature")
        for exponent: [UInt8] in [[], [0], [2], [1, 0], [UInt8](repeating: 1, count: 9)] {
            #expect(PublicKey(rsaModulus: Self.modulus, exponent: exponent) == nil, "\(exponent)")
        }
        #expect(PublicKey(rsaModulus: Array(Self.modulus.dropLast()), exponent: [1, 0, 1]) == nil, "2,040 bits")
        for modulus: [UInt8] in [[], [0], [UInt8](repeating: 0xFF, count: 128), [UInt8](repeating: 0xFF, count: 2049)] {
            #expect(PublicKey(rsaModulus: modulus, exponent: [1, 0, 1]) == nil, "\(modulus.count) bytes")
        }
        #expect(PublicKey(rsaModulus: [0] + Self.modulus, exponent: [0, 1, 0, 1]) != nil, "leading zeros change no number")
        #expect(PublicKey(p256X: Self.y, y: Self.x) == nil, "not on the curve")
        #expect(PublicKey(p256X: Array(Self.x.dropLast()), y: Self.y) == nil && PublicKey(p256X: [0] + Self.x, y: Self.y) == nil)
        #expect(PublicKey(p256X: [UInt8](repeating: 0, count: 32), y: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(PublicKey(ed25519: []) == nil && PublicKey(ed25519: [UInt8](repeating: 1, count: 33)) == nil)
    }

    @Test("many threads verify with one key at once")
    func concurrent() async {
        let example = Self.examples[1]
        let (message, signature) = (Array(example.message.utf8), Self.bytes(example.signature))
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let changed = number % 2 == 0 ? signature : signature.reversed()
                    return example.key?.isSignature(changed, of: message[...]) == (number % 2 == 0)
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test("a text that is no RSA key makes no signing key, and an encrypted one does not ask for a password")
    func signingKeys() {
        // Made by openssl genpkey: an Ed25519 key, an encrypted one, and an RSA key of 1,024 bits.
        let texts = [
            "", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHIvLiTnxZMtm+E+ROXSGt7I0gepaBqJiZNOT/X7v7lI\n-----END PRIVATE KEY-----\n",
            """
            -----BEGIN ENCRYPTED PRIVATE KEY-----
            MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiiVoXkTnnHRgICCAAw
            DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEHLIUmiP7qGZrajT7r288lcEQBZB
            me8fVk/mDceL+CbR436FfGGQLm0fvpCQZaVJXh+BW6GSwnK+G/Uf9hur46iWRNoz
            zGBFymc9SUl5fKFN0yQ=
            -----END ENCRYPTED PRIVATE KEY-----
            """,
            """
            -----BEGIN PRIVATE KEY-----
            MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBALqodWHLZrnl91cH
            j6PxW95Ms26rgvukaWHhR8spQ2Zz+lGNhYxNp91YcSLaXeZ42qPVc8/mX5aAVwxT
            KbnmnsqB0OpTVPCaLJ0GQPsAH0SQLTXLU4mfdXsJ8zN7uKiSbLLskhhq+uqZ++QF
            FV0jelkVr180BpGdED7pAWvNpIWrAgMBAAECgYAk1+uTihqUxxezTgLEUXfYwTsJ
            tUD9es5yS41oRJTRPENEpbKepxVjU3nBb2jpfSFrBU7+0nI7uslz3VZ3I1ZkPDdG
            UfNBX9aJHNRPeG0GtT3cmNfRk3cmEnjW6MfIw8ioxyR1g8/lWamgCRilqhHheFFz
            GTavIUmlXUAJKdqOAQJBAOCv+WnhYGkjx5Nc05uJVn0mgfdojMsoOOKB0VZ5rvDA
            H9XyrK+YkZzDoRJk2P0VE7xONjvd2DyGx1vIpYg+RWECQQDUq7xTfkNYnaI+2wtv
            a60efjIw6+PABdOdulcwgy320in4Hz/fX6IZ5UTzyMNsYY89dTLkBHZowRAxIdmM
            aRqLAkA2CdzAnFXls5dCV+cE12kXvHUxndGO4uObhoFkfOuYN3zwpebmbJlIzLwm
            gl61r6YJef4NM/PXysqTxpQZSnDBAkEAmNeD1Y2c4QcJH5tVMJJ2LMANWlNtrweA
            +o59MwRT+Fs6hnQO935HhczcLUhQCohi5YxhMrZyUv7NoEHvk5XF2QJAXDnXgb1Y
            WeacJoAU4Y0EVSIwUqytwt9aZDWwSrI1I91nRR25RugVrp6EzdI15n7cJZ1xJ0os
            8QVAb3JtYmH5zw==
            -----END PRIVATE KEY-----
            """,
        ]
        for text in texts { #expect(RSASigningKey(pem: text) == nil) }
    }
}
