import Testing
import TokenRelay

@testable import ModelProviders

@Suite("Errors of the dialects")
struct DialectErrorTests {
    @Test(
        "errors of providers: money, keys, and what is temporary",
        arguments: [
            (
                "anthropic", 400, #"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                ProviderError(code: "invalid_request_error", kind: .money)
            ),
            (
                "anthropic", 529, #"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#,
                ProviderError(code: "overloaded_error")
            ),
            (
                "gemini", 400, #"{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                ProviderError(code: "INVALID_ARGUMENT", kind: .key)
            ),
            (
                "gemini", 429, #"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x"}}"#,
                ProviderError(code: "RESOURCE_EXHAUSTED", kind: .rateLimit)
            ),
            (
                "gemini", 429,
                #"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},"#
                    + #"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]}}"#,
                ProviderError(code: "RESOURCE_EXHAUSTED", kind: .rateLimit, retryAfter: .seconds(17.5))
            ),
            ("openai", 429, #"{"error":{"code":"insufficient_quota"}}"#, ProviderError(code: "insufficient_quota", kind: .money)),
            (
                "openai", 429, #"{"error":{"code":"credit_balance_exhausted"}}"#,
                ProviderError(code: "credit_balance_exhausted", kind: .money)
            ),
            (
                "anthropic", 400, #"{"type":"error","error":{"type":"billing_error","message":"x"}}"#,
                ProviderError(code: "billing_error", kind: .money)
            ),
            (
                "anthropic", 429,
                #"{"type":"error","error":{"type":"rate_limit_error","message":"Your workspace has reached its Spend Limit"}}"#,
                ProviderError(code: "rate_limit_error", kind: .money)
            ),
            (
                "openai-responses", 429, #"{"error":{"code":"rate_limit_exceeded"}}"#,
                ProviderError(code: "rate_limit_exceeded", kind: .rateLimit)
            ),
            (
                "azure-openai", 400, #"{"error":{"code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
                ProviderError(code: "content_filter", kind: .moderation, isBilled: true)
            ),
            (
                "openai-compatible", 402, #"{"error":{"code":402,"message":"Insufficient credits"}}"#,
                ProviderError(code: "402", kind: .money)
            ),
            (
                "openai-compatible", 498, #"{"error":{"code":"capacity_exceeded"}}"#,
                ProviderError(code: "capacity_exceeded", kind: .temporary)
            ),
            (
                "openai-compatible", 403,
                #"{"error":{"code":403,"message":"x","metadata":{"reasons":["violence"],"flagged_input":"x","provider_name":"X"}}}"#,
                ProviderError(code: "403", kind: .moderation)
            ),
            ("openai-compatible", 403, #"{"error":{"code":403,"message":"x"}}"#, ProviderError(code: "403", kind: .access)),
            (
                "openai-compatible", 400,
                #"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: ba***na."}"#,
                ProviderError(kind: .key)
            ),
            (
                "openai-compatible", 400, #"{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error"}}"#,
                ProviderError(code: "invalid_request_error", kind: .key)
            ),
            (
                "openai-compatible", 400, #"{"error":{"message":"x","type":"invalid_request_error","code":"model_decommissioned"}}"#,
                ProviderError(code: "model_decommissioned", kind: .model)
            ),
            (
                "openai", 404, #"{"error":{"message":"x","type":"invalid_request_error","code":"model_not_found"}}"#,
                ProviderError(code: "model_not_found", kind: .model)
            ),
            (
                "anthropic", 400,
                #"{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will"}}"#,
                ProviderError(code: "invalid_request_error", kind: .money)
            ),
            (
                "gemini", 400, #"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"User location is not supported"}}"#,
                ProviderError(code: "FAILED_PRECONDITION", kind: .access)
            ),
            ("bedrock", 424, #"{"message":"x"}"#, ProviderError(kind: .temporary)),
        ] as [(String, Int, String, ProviderError)])
    func errors(_ dialect: String, _ status: Int, _ body: String, _ expected: ProviderError) throws {
        let error = try #require(Dialect.named(dialect)).error(TransferHead(status: status), body: Array(body.utf8))
        #expect(error == expected)
    }

    @Test("Bedrock's code stands in a header")
    func bedrockCode() {
        let head = TransferHead(
            status: 429, headers: [TransferHeader("x-amzn-errortype", "ThrottlingException:http://internal.amazon.com/coral/")])
        #expect(BedrockConverse.error(head, body: []).code == "ThrottlingException")
    }

    @Test("which 403 is about the key, and which may be about the model alone")
    func refusedKeys() throws {
        func kind(_ dialect: String, _ head: [TransferHeader] = [], _ body: String = "{}") throws -> ProviderError.Kind {
            try #require(Dialect.named(dialect)).error(TransferHead(status: 403, headers: head), body: Array(body.utf8)).kind
        }
        for code in ["UnrecognizedClientException", "ExpiredTokenException", "InvalidSignatureException"] {
            #expect(try kind("bedrock", [TransferHeader("x-amzn-errortype", code)]) == .key)
        }
        #expect(try kind("bedrock", [TransferHeader("x-amzn-errortype", "AccessDeniedException")]) == .access)
        #expect(try kind("anthropic", [], #"{"error":{"type":"permission_error"}}"#) == .access)
        #expect(try kind("gemini", [], #"{"error":{"code":403,"status":"PERMISSION_DENIED"}}"#) == .access)
    }
}
