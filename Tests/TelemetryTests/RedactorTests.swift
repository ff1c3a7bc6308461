import Testing

@testable import Telemetry

@Suite("Redactor")
struct RedactorTests {
    private static let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.dBjftJeZ4CVP-mBRcanary"

    /// Secrets, each of which contains the word "canary", which must be redacted.
    static let canaries = [
        jwt, "token \(jwt) refused", "Authorization: Bearer \(jwt)", "x=\(jwt),y", "prefix\(jwt)",
        "eyJhbGciOiJub25lIn0.eyJjYW5hcnkiOjF9canary.",
        "eyJhbGciOiJIUzI1NiJ9canarycanary", "Bearer canary", "bearer   canary-1.2~x", "BEARER canary==", "authorization=Bearer canary",
        "Authorization: Basic dXNlcjpwYXNzcanary=", #"{"authorization":"Bearer canary"}"#, "Bearer+canary", "sk-canary-1234567890",
        "key sk-proj-canary_1234567890 is bad", "\"sk-ant-api03-canary\"", "sk_live_canary12345", "AIzaSyCanarycanary1234",
        "whsec_canary12345",
        "canary@example.com", "mail to canary.person+tag@mail.example.co.uk, please", "<canary@example.com>", "user%20canary%40example.com",
        "canäry.canary@exämple.de", "postgres://canary:canary@db.internal:5432/app", "postgresql://u:can/canary#?x@host/db",
        "connect to https://canary:canary@host/path?x=1 failed", "redis://:canary@host", "host=db user=u password=canary dbname=x",
        "password='canary word'", "PASSWORD=canary", #"{"password": "canary"}"#, #"{"refresh_token":"canary"}"#, "?access_token=canary&x=1",
        "client-secret=canary", "apikey=canary;", "api_key = canary", "jwt=canary", "a@b.co canary@example.com b@c.de",
    ]

    @Test("every secret is redacted", arguments: canaries)
    func canary(text: String) {
        let redacted = Redactor().redact(text)
        #expect(!redacted.lowercased().contains("canary"), "\(redacted)")
        #expect(redacted.contains(Redactor.mark))
        #expect(Redactor().redact(redacted) == redacted, "redacting twice changes nothing")
    }

    @Test(
        "text without secrets is unchanged",
        arguments: [
            "", "turn finished", "bearer token missing", "Bearer authentication is required", "a basic plan", "Basic plan chosen",
            "task sk-1",
            "risk-taking behaviour", "ask-me-anything-please", "key eyJ", "@Sendable closure", "user@localhost",
            "5 tokens=12 input_tokens=7",
            "http://127.0.0.1:8080/functions/v1/chat-stream", "https://host/a:b/c", "postgres://host/db", "3 @ 2.50", "max 10% of 40%",
            "password changed", "password: see manual", "1e9 = 2", "turn_id=6f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d11", "naïve — “déjà vu” 🌱",
        ])
    func untouched(text: String) {
        #expect(Redactor().redact(text) == text)
    }

    @Test("text around a secret is kept")
    func context() {
        let redactor = Redactor()
        #expect(redactor.redact("from a.b@c.de to d@e.fr: no") == "from [redacted] to [redacted]: no")
        #expect(redactor.redact("postgres://u:p@db:5432/x failed") == "postgres://[redacted]@db:5432/x failed")
        #expect(redactor.redact("password=x host=db") == "password=[redacted] host=db")
        #expect(redactor.redact("Authorization: Bearer abc; next") == "Authorization: Bearer [redacted]; next")
        #expect(redactor.redact("é a@b.cd é") == "é [redacted] é")
    }

    @Test("random bytes around secrets neither crash the redactor nor hide a secret")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("ab1@.:/=\"' %eyJsk-Bearer_~&é🌱{}\n".unicodeScalars)
        for _ in 0..<2000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...40, using: &generator) { text.append(alphabet.randomElement(using: &generator) ?? "a") }
            let noise = String(text)
            let redacted = Redactor().redact("\(noise) \(Self.jwt) \(noise)")
            #expect(!redacted.contains("dBjftJeZ4CVP-mBRcanary"))
        }
    }

    @Test("metadata keys that name a secret are recognised in every spelling")
    func keys() {
        for key in [
            "authorization", "Authorization", "http.request.header.authorization", "api-key", "X-API-Key", "refresh_token", "email",
        ] {
            #expect(Redactor().isSecret(key: key))
        }
        for key in ["tokens", "input_tokens", "turn_id", "email_count", "path"] { #expect(!Redactor().isSecret(key: key)) }
    }
}
