import CoachCore
import Foundation
import HTTPTestServers
import JSON
import OutboundHTTP
import Synchronization
import TestSupport
import Testing

@testable import Identity

@Suite("Google service accounts")
struct ServiceAccountTests {
    /// Made for this test with `openssl genpkey`.
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDSRplgLIyHbcU6
        qV8Y9JXkQf0EQMNKqksS3EjymQ4kQF8LS9jT8e6nSfpuR4HRPMH9KSR6ysZBm+8O
        TlJQcR8c4NK8uT2268t8CWxqtwZAvbRXDqnvOXJTfoZyJn/Wi+U/r6wAW1pni5K9
        Dv26wcERnm5WURAtiGgMWqBR4JpPjp1YfWwG+ygKGxRNZo3cDtNdbz9+VNyRRpbU
        nAFYaLrTB9GFtGMrvCRPfN6zdDDlrU1oVAwsOEn6QzGaqH9+wgPy+uME+1JtmkEe
        eCa1XcGUYLtuzX1ngKjNQ0fszSrR7Vflb5CNSFaz4jnePAuuGJtgLCJd108UY4JQ
        a+Fd64p5AgMBAAECggEANsBkQlsHMmI+NzKPzPcuqlMWVwun7iKeTqhmJCj/Oig6
        tz3GFRXLLur/1sQuxLUdy9XxJjnzWnUIT4DMRR7XW5UcukA/lggaoU7w2G6Upbnf
        ocVzMROTtbLdvg5RPiOKC0WqMyOWTBzXFfw3y++UXoqSr04HONvqP8E/OmKRu4Ht
        gkaJCrBRFY/W7o1nw7rMYo+4xY1lsJMnNvOkTYcSXiK6DfBDbEbK3TfCb+98P2DD
        SgThwMrBKuKLcADYyUXsZ9rN2EXYeKS6XQfpPu4C3rLczeIRO+8OGOkOutuFJUyp
        CLSU0mbjZbx+I3z59RMg6IC5xpAilkqX8C6HHPXJ0wKBgQDxT43HIpYLU/ptodcV
        El42/UiXwUMSolK30kpigu3oFLPlPrONkCbhi2drKQlXztzc8Uk0hp533gU+KBF5
        gMw0Rdl5CoqhO4/VcIoXRiXTN9W6GH+OoJ3R+kgnZrKnpDjRNDqLcf++T7r19ImM
        AT2laTdY0xdaMSz/2ENpv+7bqwKBgQDfE2oODVovycYP6P7kysL2xYwZwaR9Ia8V
        QwoI+EdQ1NRKmW8XzZTHVINFPADqtBJPZ3H/tuAc3saokog/64rOtkVis4Iivrur
        A3li5mHbX5mScHooFYtTOG+/73NgS1gnh5cQgh5UlpdoCaoi0Ap+nXPsmsfcP36T
        SjUvN9cuawKBgDsDJH3tdFoi2FxVNr8dddLm0Ajkp114OthfYfeDY2DdJz1JvylA
        dnGz4L+xEmrZ2ONjUm64+SoBLrELpXJcUBP8fPl/3XUelscwtWSJsBheUDMpaJBd
        sRq3pUuVbt1WaNqodiTB5TQKVYNuoPCPIR9BgtqDDPPukL2kip/i4yvvAoGBAIRi
        dCUEvYnwt68HegVzY0Kpt9wtNB3imJIIp/LszP3mYFopNmms4mds+z5iPrUKynb/
        EANOly/q8YBm/Z7ZfRXxy7moiElwYdU6iZYs3NQgpvXl9EjHiFiJ/J+uTg1OiXFk
        IT11yuQuPopKegKQ7jl33a0DqipGMCre9jMgc34jAoGBAKebLLsyl2S77uHF4574
        ctUvQWRaFFRXEPrVSn1JAd0CGRE0l252Wbz+TFGFa9rFo9Mnf6i3vd3KIg07LmIq
        ZCbOXj6z2Nh29IXFFIwZG/nh6xkQ/kDA3U0r2Drie5GU5LUfzdfzO7yr5qfppyVl
        GeJxiPsMAufro4y9Jv4Q6lYZ
        -----END PRIVATE KEY-----
        """

    /// Of the same key, by `openssl rsa -modulus`.
    private static let modulus =
        "d24699602c8c876dc53aa95f18f495e441fd0440c34aaa4b12dc48f2990e24405f0b4bd8d3f1eea749fa6e4781d13cc1fd29247acac6419bef0e4e5250711f1c"
        + "e0d2bcb93db6ebcb7c096c6ab70640bdb4570ea9ef3972537e8672267fd68be53fafac005b5a678b92bd0efdbac1c1119e6e5651102d88680c5aa051e09a4f8e"
        + "9d587d6c06fb280a1b144d668ddc0ed35d6f3f7e54dc914696d49c015868bad307d185b4632bbc244f7cdeb37430e5ad4d68540c2c3849fa43319aa87f7ec203"
        + "f2fae304fb526d9a411e7826b55dc19460bb6ecd7d6780a8cd4347eccd2ad1ed57e56f908d4856b3e239de3c0bae189b602c225dd74f146382506be15deb8a79"

    /// Ends with 0 when a signature (RSASSA-PKCS1-v1_5 with SHA-256, RFC 8017 §8.2.2, exponent 65537) is that of a message. In numbers alone: by another
    /// library than the one that signs.
    private static let verification = """
        import hashlib, sys
        modulus, signature, message = sys.argv[1:]
        digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(message.encode()).digest()
        expected = b"\\0\\1" + b"\\xff" * (253 - len(digest)) + b"\\0" + digest
        sys.exit(pow(int(signature, 16), 65537, int(modulus, 16)) != int.from_bytes(expected, "big"))
        """

    private func file(_ changes: [String: String?] = [:], tokenURL: String = "https://oauth2.example/token") -> [UInt8] {
        var fields: [String: String?] = [
            "client_email": "billing@example.iam", "private_key_id": "k1", "private_key": Self.key, "token_uri": tokenURL,
        ]
        fields.merge(changes) { $1 }
        return JSONValue.object(fields.compactMap { name, value in value.map { JSONMember(name, .string($0)) } }).bytes
    }

    @Test("a file without a member, with another kind of key, or with an http URL is rejected; the error has no key")
    func invalid() {
        let changes: [(String, String?)] = [
            ("client_email", nil), ("private_key", "x"), ("token_uri", "http://example.com/token"), ("private_key", nil),
        ]
        for (name, value) in changes {
            let error = #expect(throws: ServiceAccountFile.Invalid.self) { try ServiceAccountFile(parsing: file([name: value])) }
            #expect(error?.description.contains("BEGIN") == false)
        }
        #expect(throws: ServiceAccountFile.Invalid.self) { try ServiceAccountFile(parsing: Array("[]".utf8)) }
    }

    @Test("an assertion signed with RS256 is exchanged for an access token, which is cached until its last minute")
    func exchange() async throws {
        let server = try StoreAPI()
        let client = try OutboundHTTPClient(OutboundConfiguration())
        defer { client.shutDown() }
        let clock = Mutex(Date(timeIntervalSince1970: 1_768_435_200))
        let account = ServiceAccount(
            file: try ServiceAccountFile(parsing: file(tokenURL: server.url + "/token")), scope: "scope-1", client: client,
            now: { clock.withLock(\.self) })
        await #expect(throws: ServiceAccount.NoToken.self) { try await account.accessToken() }
        try await server.answer("/token", #"{"access_token":"one","expires_in":3599,"token_type":"Bearer"}"#)
        #expect(try await account.accessToken() == "one")
        try await server.answer("/token", #"{"access_token":"two","expires_in":3599}"#)
        clock.withLock { $0 += 3_500 }
        #expect(try await account.accessToken() == "one")
        clock.withLock { $0 += 60 }
        #expect(try await account.accessToken() == "two")

        let form = try #require(try await server.requests().first).body
        let parts = form.split(separator: "&assertion=")
        #expect(parts.count == 2 && parts[0] == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer")
        let token = String(try #require(parts.last))
        let encoded = token.split(separator: ".")
        #expect(encoded.count == 3)
        let signed = try encoded.map { try #require(Base64URL.decode($0.utf8)) }
        let (header, claims) = (try JSONValue(parsing: signed[0]), try JSONValue(parsing: signed[1]))
        #expect(header["alg"] == "RS256" && header["kid"] == "k1" && header["typ"] == "JWT")
        let signature = signed[2].map { String(format: "%02x", $0) }.joined()
        try ChildProcess.run(["python3", "-c", Self.verification, Self.modulus, signature, "\(encoded[0]).\(encoded[1])"], errors: .pipe)
        #expect(throws: ChildProcess.Failure.self, "another message") {
            try ChildProcess.run(["python3", "-c", Self.verification, Self.modulus, signature, "\(encoded[0]).e30"], errors: .pipe)
        }
        #expect(claims["iss"] == "billing@example.iam" && claims["scope"] == "scope-1")
        #expect(claims["aud"]?.string == server.url + "/token")
        #expect(claims["iat"] == 1_768_435_200 && claims["exp"] == 1_768_438_800)
    }
}
