import Foundation
import Testing

@testable import Identity

@Suite("Key set documents")
struct KeySetDocumentTests {
    private func parse(_ keys: [String]) throws -> KeySetDocument {
        try KeySetDocument(Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8))
    }

    @Test("keys of the three accepted kinds are used, with or without alg")
    func usable() throws {
        let document = try KeySetDocument(Array(Fixture.jwks.utf8))
        #expect(document.keys.identifiers == ["ec-1", "ed-1", "rsa-1"])
        #expect(document.findings == [])
        #expect(document.keys["rsa-1"]?.algorithm == .rs256)
        #expect(document.keys["ec-1"]?.algorithm == .es256)
        #expect(document.keys["ed-1"]?.algorithm == .edDSA)
    }

    @Test("an unusable key is reported in a finding, and the other keys are used")
    func unusable() throws {
        let strange = [
            #"{"kty":"AKP","kid":"a","alg":"ML-DSA-65","pub":"x"}"#,
            #"{"kty":"oct","kid":"b","alg":"HS256","k":"c2VjcmV0"}"#,
            #"{"kty":"EC","crv":"P-384","kid":"c","alg":"ES384","x":"AA","y":"AA"}"#,
            #"{"kty":"RSA","kid":"d","use":"enc","n":"AQ","e":"AQAB"}"#,
            #"{"kty":"RSA","kid":"e","key_ops":["sign"],"n":"AQ","e":"AQAB"}"#,
            #"{"kty":"RSA","kid":"f","alg":"PS256","n":"AQ","e":"AQAB"}"#,
            #"{"kty":"RSA","kid":"g","n":"AQ","e":"AQAB"}"#,
            #"{"kty":"EC","crv":"P-256","kid":"h","x":"AQ","y":"AQ"}"#,
            #"{"kty":"OKP","crv":"Ed25519","kid":"i","x":"!"}"#,
            #"{"kty":"OKP","crv":"X25519","kid":"j","x":"AQ"}"#,
            #"{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}"#,
            #"{"kid":"k"}"#, "null", "7", #""key""#,
        ]
        let document = try parse(strange + [Fixture.secondKey, Fixture.secondKey])
        #expect(document.keys.identifiers == ["ec-2"])
        #expect(document.findings.count == strange.count + 1)
        #expect(document.findings.last == "key 17: its kid ec-2 was taken by an earlier key")
    }

    @Test("a private key that was published by mistake is used as a public one only")
    func privateKey() async throws {
        let document = try parse([Fixture.secondKey.replacing(#""kid""#, with: #""d":"AAAA","kid""#)])
        let verifier = TokenVerifier(
            policy: Forge.policy, secret: nil, keySet: await Forge.keySet(#"{"keys":[\#(Fixture.secondKey)]}"#))
        #expect(document.keys.identifiers == ["ec-2"])
        #expect(throws: Never.self) { try verifier.verify("Bearer \(Fixture.es256OfSecondKey)", now: Forge.now) }
    }

    @Test("a key with a repeated member is a finding and the others are used; a repeated list of keys is an error")
    func repeatedMembers() throws {
        let repeated = Fixture.secondKey.replacing(#""kid""#, with: #""kid":"other","kid""#)
        let document = try parse([repeated, Fixture.secondKey])
        #expect(document.keys.identifiers == ["ec-2"])
        #expect(document.findings == ["key 1: keys[0].kid is given twice"])
        #expect(throws: (any Error).self) {
            try KeySetDocument(Array(#"{"keys":[],"keys":[\#(Fixture.secondKey)]}"#.utf8))
        }
    }

    @Test(
        "a document that is not a key set is an error",
        arguments: ["", "{}", "[]", "null", #"{"keys":{}}"#, #"{"keys":null}"#, "<html>"])
    func noKeySet(text: String) {
        #expect(throws: (any Error).self) { try KeySetDocument(Array(text.utf8)) }
    }
}
