import Foundation
import OpenSSLCrypto
import Testing

@testable import Webhooks

@Suite("Signed webhook bodies")
struct WebhookSignatureTests {
    private static let now: Int64 = 1_700_000_000
    private let body = Array(#"{"id":"evt_1"}"#.utf8)
    private let known = "c89214b5b5da833daed6f0b8c5bb6bd58cea9022bd80ccc78230f3942d632925"

    private func signature(_ secret: String, _ time: String, _ body: [UInt8]) -> String {
        AuthenticationKey(secret.utf8).code(of: Array("\(time).".utf8) + body).map { String(format: "%02x", $0) }.joined()
    }

    private func isValid(_ header: String?, secrets: [String] = ["whsec_test"], at now: Int64 = Self.now) -> Bool {
        WebhookSignature(secrets: secrets).isValid(header: header, body: body, unixSeconds: now)
    }

    @Test("a signature of an independent implementation is valid, in upper and lower case")
    func vector() {
        #expect(isValid("t=1700000000,v1=\(known)"))
        #expect(isValid("t=1700000000, v1=\(known.uppercased())"))
        #expect(signature("whsec_test", "1700000000", body) == known)
    }

    @Test("any secret and any v1 may match; other schemes are ignored")
    func rotation() {
        let other = String(repeating: "0", count: 64)
        #expect(isValid("t=1700000000,v1=\(other),v1=\(known),v0=\(other)", secrets: ["old", "whsec_test"]))
        #expect(!isValid("t=1700000000,v0=\(known)"))
        #expect(!isValid("t=1700000000,v1=\(known)", secrets: ["old", "other"]))
        #expect(!isValid("t=1700000000,v1=\(known)", secrets: []))
    }

    @Test("the time may differ by 300 s in both directions", arguments: [(-301, false), (-300, true), (300, true), (301, false)])
    func tolerance(difference: Int64, expected: Bool) {
        #expect(isValid("t=1700000000,v1=\(known)", at: Self.now + difference) == expected)
    }

    @Test("a changed byte of the body, the time or the signature is rejected")
    func changed() {
        #expect(
            !WebhookSignature(secrets: ["whsec_test"]).isValid(
                header: "t=1700000000,v1=\(known)", body: body + [0x20], unixSeconds: Self.now))
        #expect(!isValid("t=1700000001,v1=\(known)"))
        #expect(!isValid("t=1700000000,v1=d\(known.dropFirst())"))
    }

    @Test(
        "malformed headers are rejected",
        arguments: [
            nil, "", "t=1700000000", "v1=00", "t=,v1=00", "t=99999999999999999999,v1=00", "t=-1,v1=00", "t=1700000000,v1=", "=,=,=",
            "t=1700000000,v1=zz",
        ] as [String?])
    func malformed(header: String?) {
        #expect(!isValid(header))
    }

    @Test("a header with two times, a negative or an enormous one is rejected even when it is signed")
    func times() {
        #expect(!isValid("t=1700000000,t=1700000000,v1=\(known)"))
        for time in ["+1700000000", " 1700000000", "1700000000.0", "٣"] {
            #expect(!isValid("t=\(time),v1=\(signature("whsec_test", time, body))"))
        }
        let many = Array(repeating: "v1=\(known)", count: 17).joined(separator: ",")
        #expect(!isValid("t=1700000000,\(many)"))
    }

    @Test("every configured credential must match; without any configured, every request is rejected")
    func credentials() {
        let signed = "t=1700000000,v1=\(known)"
        func check(_ credentials: WebhookCredentials, _ authorization: String?, _ signature: String?) -> Bool {
            credentials.isValid(authorization: authorization, signature: signature, body: body, unixSeconds: Self.now)
        }
        let header = WebhookCredentials(authorization: "Bearer abc", secrets: [])
        #expect(check(header, "Bearer abc", nil) && !check(header, "bearer abc", nil) && !check(header, nil, signed))
        #expect(!check(header, "Bearer abc ", nil) && !check(header, "", nil))
        let hmac = WebhookCredentials(authorization: nil, secrets: ["whsec_test"])
        #expect(check(hmac, nil, signed) && check(hmac, "anything", signed) && !check(hmac, "Bearer abc", nil))
        let both = WebhookCredentials(authorization: "Bearer abc", secrets: ["whsec_test"])
        #expect(check(both, "Bearer abc", signed) && !check(both, nil, signed) && !check(both, "Bearer abc", nil))
        let none = WebhookCredentials(authorization: "", secrets: [])
        #expect(!none.isConfigured && !check(none, "", nil) && !check(none, nil, signed) && header.isConfigured && hmac.isConfigured)
    }
}
