import CoachCore
import Foundation
import Testing
import TokenRelay

@testable import ModelProviders

@Suite("How a provider is called")
struct ProviderReaderTests {
    private func read(_ members: String, _ environment: [String: String] = ["KEY": "sk-canary"]) -> (
        provider: Provider?, findings: [String]
    ) {
        let file = """
            {"providers": {"p": {"dialect": "openai", "base_url": "https://api.test/openai", "api_key_env": "KEY"\(members)}},
             "routes": {"default": [{"provider": "p", "model": "m", "max_output_tokens": 5}]}}
            """
        let (configuration, findings) = ModelConfiguration.read(Data(file.utf8), environment: environment)
        return (configuration?.providers["p"], findings)
    }

    private func request(_ members: String, _ environment: [String: String] = ["KEY": "sk-canary"]) throws -> TransferRequest {
        let (provider, findings) = read(members, environment)
        #expect(findings == [])
        let called = try #require(provider)
        let choice = ModelChoice(name: ModelName(provider: "p", model: "m"))
        let configuration = ModelConfiguration(providers: ["p": called], defaultRoute: Route(choice), routes: [:])
        let prompt = PromptForm(dialect: .openAI).encode(Prompt(messages: [], maximumOutputTokens: 1))
        let keys = ProviderKeys(of: configuration, environment: environment)
        return Dialect.openAI.request(
            prompt, to: choice, at: called, key: keys.key(of: "p", at: .now), keys: keys, connectTimeout: .seconds(1))
    }

    @Test("the key is a bearer token, or stands alone in the field that is named")
    func key() throws {
        #expect(try request("").headers.contains(TransferHeader("Authorization", "Bearer sk-canary")))
        let azure = try request(#", "api_key_header": "api-key", "query": {"api-version": "2024-10-21"}"#)
        #expect(azure.url == "https://api.test/openai/chat/completions?api-version=2024-10-21")
        #expect(azure.headers.contains(TransferHeader("api-key", "sk-canary")))
        #expect(!azure.headers.contains { $0.name == "Authorization" })
    }

    @Test("a variable holds several keys, with white space around their commas or without", arguments: ["one,two", " one , two\n"])
    func severalKeys(value: String) throws {
        #expect(try request("", ["KEY": value]).headers.contains(TransferHeader("Authorization", "Bearer one")))
    }

    @Test("a variable without a key between its commas counts as not set")
    func noKey() {
        #expect(read("", ["KEY": " , "]).findings == ["models: routes.default has no provider that can be used; set KEY"])
    }

    @Test("fields and parameters are constants, or come from the environment, encoded")
    func fields() throws {
        let environment = ["KEY": "k", "TEAM": "coach ", "TOKEN": "a+b/c"]
        let request = try request(
            #", "headers": {"X-One": "1 2"}, "headers_env": {"X-Team": "TEAM"}, "query": {"a b": "ü"}, "query_env": {"key": "TOKEN"}"#,
            environment)
        #expect(request.headers.contains(TransferHeader("X-One", "1 2")) && request.headers.contains(TransferHeader("X-Team", "coach")))
        #expect(request.url.hasSuffix("?a%20b=%C3%BC&key=a%2Bb%2Fc"))
    }

    @Test("a variable that is not set makes the provider unusable, and is named")
    func missing() {
        let (_, findings) = read(#", "headers_env": {"X-Team": "TEAM"}"#)
        #expect(findings == ["models: routes.default has no provider that can be used; set TEAM"])
    }

    @Test(
        "what cannot be sent is a finding, and no secret is shown",
        arguments: [
            (#", "headers": {"Content-Length": "1"}"#, "Content-Length"), (#", "headers": {"X Y": "1"}"#, "X Y"),
            (#", "headers": {"X-A": "1"}, "headers_env": {"x-a": "KEY"}"#, "x-a is set twice"),
            (#", "headers": {"X-A": 1}"#, "headers.X-A must be"),
            (#", "headers": {"X-A": "a\u0007b"}"#, "headers must have printable"), (#", "query": []"#, "query must be"),
            (#", "api_key_header": "Host""#, "api_key_header must be"), (#", "http_version": "3""#, "http_version must be"),
            (#", "client_certificate": "/x.pem""#, "client_key is required"),
            (#", "client_key": "/x.pem""#, "client_certificate is required"),
            (#", "client_certificate": "/no.pem", "client_key": "/no.key""#, "/no.pem cannot be read"),
            (#", "ca_file": "/no.pem""#, "p.ca_file cannot be used: /no.pem cannot be read"),
            (#", "ca_file": "/""#, "p.ca_file cannot be used: / cannot be read"),
            (#", "proxy": "https://p:1", "proxy_ca_file": "/no.pem""#, "p.proxy_ca_file cannot be used: /no.pem"),
            (#", "proxy": "http://u:secret@p:1""#, "proxy_env"), (#", "proxy": "ftp://p:1""#, "is no URL of a proxy"),
            (#", "proxy_auth": "digest""#, "proxy_auth must be"), (#", "headers_env": {"X-A": "BAD"}"#, "BAD: contains"),
        ])
    func findings(_ members: String, _ expected: String) {
        let findings = read(members, ["KEY": "sk-canary", "BAD": "sec\u{1}ret"]).findings
        #expect(findings.contains { $0.contains(expected) }, "\(findings)")
        #expect(!findings.joined().contains("secret") && !findings.joined().contains("canary"))
    }

    @Test("proxy, version and certificate decide the driver once")
    func route() throws {
        #expect(try request("").route == .direct)
        #expect(try request(#", "http_version": "1.1", "proxy": "none""#, ["KEY": "k", "https_proxy": "p:1"]).route == .direct)
        #expect(try request(#", "http_version": "2""#).route != .direct)
        let proxied = try request(#", "proxy_env": "PROXY", "proxy_auth": "ntlm""#, ["KEY": "k", "PROXY": "http://u:secret@p:1"])
        #expect(proxied.route != .direct)
        var dumped = ""
        dump(proxied.route, to: &dumped)
        #expect(!dumped.contains("secret") && !"\(proxied.route)".contains("secret"))
        #expect(try request(#", "proxy_env": "PROXY""#).route == .direct)
        #expect(read("", ["KEY": "k", "https_proxy": "ftp://p:1"]).findings.first?.contains("https_proxy") == true)
        // A provider that is not used has no say.
        #expect(!read("", ["https_proxy": "ftp://p:1"]).findings.joined().contains("https_proxy"))
    }
}
