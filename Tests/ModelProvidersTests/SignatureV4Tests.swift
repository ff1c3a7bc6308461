import JSON
import Testing
import TokenRelay

@testable import ModelProviders

/// Signatures computed with botocore 1.44.5, those of requests with a query with botocore 1.43.11.
@Suite("Signature Version 4")
struct SignatureV4Tests {
    @Test(
        "is what botocore makes of the same request",
        arguments: [
            (
                nil, "", "content-type;host;x-amz-date",
                "f40cc9078cfca4ccaee3340883dac9cb4cf4b7bac62e179429427e010b5fbafb"
            ),
            (
                "TOKEN/with+chars=", "", "content-type;host;x-amz-date;x-amz-security-token",
                "12af8d429218347be1ddcf78306576be3af14e5024b68448841c84c6f8204fc5"
            ),
            (
                nil, "?b=2&a-b=x%20y&a=1", "content-type;host;x-amz-date",
                "7fb550a10f2841bc986b9b9080babfca99664fffd056e35b52680461bb028934"
            ),
        ])
    func vectors(_ token: String?, _ query: String, _ names: String, _ expected: String) throws {
        let signature = SignatureV4(
            accessKey: AccessKey(id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", sessionToken: token),
            region: "us-east-1", service: "bedrock")
        let path = BedrockConverse.target(
            DialectCall(model: "anthropic.claude-3-5-sonnet-20240620-v1:0", maximumOutputTokens: 1, options: [:], settings: [:])
        ).path
        let request = TransferRequest(
            url: "https://bedrock-runtime.us-east-1.amazonaws.com\(path)\(query)",
            headers: [TransferHeader("Content-Type", "application/json"), TransferHeader("User-Agent", "not signed")],
            body: Array(#"{"messages":[]}"#.utf8))
        let headers = signature.headers(for: request, at: try #require(Timestamp(rfc3339: "2026-11-22T20:00:01Z")))
        #expect(headers.first == TransferHeader("X-Amz-Date", "20261122T200001Z"))
        #expect(headers.count == (token == nil ? 2 : 3))
        #expect(
            headers.last?.value
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261122/us-east-1/bedrock/aws4_request, SignedHeaders=\(names), "
                + "Signature=\(expected)")
    }
}
