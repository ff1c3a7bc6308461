import CoachCore
import Foundation
import Testing

@testable import coach_gateway

@Suite("Configuration")
struct ConfigurationTests {
    @Test(
        "a valid browser origin is accepted",
        arguments: [
            "https://app.example", "http://localhost:3000", "capacitor://localhost", "http://[::1]:8080", "https://app.example:8443",
        ])
    func origins(text: String) {
        #expect(WebOrigin.defect(of: text) == nil)
    }

    @Test(
        "an invalid origin is rejected",
        arguments: [
            "*", "null", "app.example", "https://", "https://app.example/", "https://app.example/path", "https://*.example",
            "https://App.example", "https://app.example:443", "http://app.example:80", "https://app.example:port", "https://me@app.example",
            "://x", "https://a b",
        ])
    func noOrigins(text: String) {
        #expect(WebOrigin.defect(of: text) != nil)
    }

    @Test(
        "where to listen is an address or a name",
        arguments: ["127.0.0.1", "::1", "0.0.0.0", "localhost", "gateway_1", "a.example", "10.example"])
    func hosts(text: String) {
        #expect(ListenAddress.isHost(text) && ListenAddress("[\(text)]:80")?.host == text)
    }

    @Test(
        "anything else is a finding that names the key", arguments: ["999.1.1.1", "1.2.3", "a b", "-a", "a..b", "127.0.0.1:80", "http://a"])
    func noHosts(text: String) {
        let settings = Settings(environment: ["COACH_HOST": text, "COACH_METRICS_LISTEN": "[\(text)]:80"])
        let findings = GatewayConfiguration.read(settings, environment: [:]).findings
        #expect(findings.contains { $0.hasPrefix("COACH_HOST: ") } && findings.contains { $0.hasPrefix("COACH_METRICS_LISTEN: ") })
    }

    @Test(
        "a value that would silently mean another one is a finding that names the key",
        arguments: [
            ("REVENUECAT_WEBHOOK_HMAC_SECRET", ","), ("STRIPE_WEBHOOK_SECRET", " , "), ("COACH_REQUIRE_CONSENT", ","),
            ("COACH_TRUSTED_PROXIES", ","), ("COACH_CORS_ORIGINS", " "), ("COACH_STORE_PRODUCTS", ",,"), ("COACH_LEDGER_DAYS", "30"),
            ("COACH_PUBLIC_ORIGIN", "ftp://coach.example"),
        ])
    func misleading(name: String, text: String) {
        let findings = GatewayConfiguration.read(Settings(environment: [name: text]), environment: [:]).findings
        #expect(findings.contains { $0.hasPrefix("\(name): ") })
    }

    @Test(
        "a value that another setting would have to switch on is read all the same",
        arguments: [
            ("REVENUECAT_API_URL", "nowhere"), ("PLAY_PUSH_KEYS_URL", "nowhere"), ("PLAY_API_URL", "http://play.example"),
            ("PLAY_SERVICE_ACCOUNT", "/nowhere"), ("APPSTORE_ROOT_CERTIFICATE", "/nowhere"), ("APPSTORE_APP_ID", "app"),
        ])
    func unused(name: String, text: String) {
        let findings = GatewayConfiguration.read(Settings(environment: [name: text]), environment: [:]).findings
        #expect(findings.contains { $0.hasPrefix("\(name): ") }, "\(findings)")
    }

    @Test(
        "a finding about an address does not repeat it, because it may have a password",
        arguments: ["COACH_JWKS_URL", "COACH_ALERT_WEBHOOK_URL", "REVENUECAT_API_URL", "PLAY_PUSH_KEYS_URL", "PLAY_API_URL"])
    func addresses(name: String) {
        let settings = Settings(
            environment: [name: "http://user:hidden@example.com/hidden", SettingKey.alertWebhookSecret.name: "hidden"])
        let findings = GatewayConfiguration.read(settings, environment: [:]).findings
        #expect(findings.contains("\(name): is neither https nor http on loopback"), "\(findings)")
        #expect(!findings.contains { $0.contains("hidden") }, "\(findings)")
    }

    @Test(
        "a database's password that is not percent-encoded is a finding that says so, and shows no part of it",
        arguments: [SettingKey.databaseURL, .databaseListenURL, .migrationURL], ["Xk3vQ9w/pL0z", "Xk3vQ9w@pL0z", "1234/pL0z"])
    func databasePassword(key: SettingKey, password: String) {
        let environment = [key.name: "postgresql://postgres:\(password)@db.example.co:5432/postgres"]
        let findings = GatewayConfiguration.read(Settings(environment: environment), environment: environment).findings
        #expect(findings.contains { $0.hasPrefix("\(key.name): ") && $0.contains("percent-encoded") }, "\(findings)")
        #expect(!findings.contains { finding in ["Xk3", "pL0z", "1234"].contains { finding.contains($0) } }, "\(findings)")
    }

    @Test("an empty value in the file counts as none, as in the environment")
    func empty() {
        let file = Data(#"{"COACH_JWT_ISSUER": "", "COACH_PORT": "", "COACH_TRUSTED_PROXIES": ""}"#.utf8)
        let settings = Settings(environment: [:], file: file)
        #expect(settings.text(.jwtIssuer) == nil && settings.text(.port) == SettingKey.port.fallback)
        let findings = GatewayConfiguration.read(settings, environment: [:]).findings
        #expect(!findings.contains { $0.hasPrefix("COACH_PORT") || $0.hasPrefix("COACH_TRUSTED_PROXIES") })
    }

    @Test("line ends behind a value, which files of secrets have, are dropped")
    func lineEnds() {
        let environment = ["STRIPE_WEBHOOK_SECRET": "a secret\r\n\n", "REVENUECAT_WEBHOOK_AUTH": "Bearer x\n", "COACH_JWT_ISSUER": "\n"]
        let settings = Settings(environment: environment, file: Data(#"{"COACH_PORT": "80\n", "COACH_HOST": "\n"}"#.utf8))
        #expect(settings.text(.stripeSecret) == "a secret" && settings.text(.revenueCatAuthorization) == "Bearer x")
        #expect(settings.text(.port) == "80" && settings.text(.jwtIssuer) == nil && settings.text(.host) == SettingKey.host.fallback)
    }

    private func configuration(_ more: [String: String]) throws -> GatewayConfiguration {
        let environment = [
            "COACH_ENV": "development", "COACH_JWT_SECRET": tokenSecret, "DATABASE_URL": "postgres://127.0.0.1/x",
        ].merging(more) { $1 }
        let (configuration, findings) = GatewayConfiguration.read(Settings(environment: environment), environment: environment)
        return try #require(configuration, "\(findings)")
    }

    @Test("a line end behind a secret that others have, too, is kept and named")
    func lineEndsOfSecrets() throws {
        let read = try configuration(["COACH_JWT_SECRET": tokenSecret + "\n", "COACH_DATABASE_PASSWORD": "word\r\n"])
        #expect(read.jwtSecret == tokenSecret + "\n" && read.databasePassword == "word\r\n")
        #expect(
            read.warnings == [
                "COACH_DATABASE_PASSWORD: ends with a line end, which is taken as a part of it",
                "COACH_JWT_SECRET: ends with a line end, which is taken as a part of it",
            ])
    }

    @Test("a state directory that cannot be made is a finding that names the key; one that can be is not made yet")
    func stateDirectory() throws {
        func findings(_ path: String) throws -> [String] { ServeCommand.missing(try configuration(["COACH_STATE_DIR": path])) }
        let folder = NSTemporaryDirectory() + "/state-\(UUID().uuidString)"
        #expect(try findings(folder + "/a/b") == [])
        #expect(!FileManager.default.fileExists(atPath: folder))
        for path in ["/etc/passwd", "/etc/passwd/state"] {
            #expect(try findings(path) == ["COACH_STATE_DIR: \(path) cannot be made or written: Not a directory"])
        }
    }

    @Test("a file of keys beside a URL of keys is named, because it is not read")
    func twoKeySets() throws {
        let file = NSTemporaryDirectory() + "/keys-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data("{}".utf8).write(to: URL(fileURLWithPath: file))
        let both = ["COACH_JWKS_FILE": file, "COACH_JWKS_URL": "https://id.example/keys"]
        #expect(try configuration(both).warnings == ["COACH_JWKS_FILE: is not read, because COACH_JWKS_URL is set"])
    }

    @Test("as many connections to providers are kept as turns may run")
    func idleConnections() throws {
        let environment = [
            "COACH_ENV": "development", "COACH_JWT_SECRET": tokenSecret, "DATABASE_URL": "postgres://127.0.0.1/x", "COACH_MAX_TURNS": "7",
        ]
        let (configuration, findings) = GatewayConfiguration.read(Settings(environment: environment), environment: environment)
        #expect(try #require(configuration, "\(findings)").transfers.idleConnections == 7)
    }

    @Test("nothing is traced unless an endpoint is set")
    func traces() throws {
        var environment = [
            "COACH_ENV": "development", "COACH_JWT_SECRET": tokenSecret, "DATABASE_URL": "postgres://127.0.0.1/x",
            SettingKey.traceServiceName.name: "coach", SettingKey.tracesHeaders.name: "a=b",
        ]
        func endpoint() throws -> String? {
            let (configuration, findings) = GatewayConfiguration.read(Settings(environment: environment), environment: environment)
            return try #require(configuration, "\(findings)").traces.endpoint
        }
        #expect(try endpoint() == nil)
        environment[SettingKey.tracesEndpoint.name] = "http://127.0.0.1:4318/v1/traces"
        #expect(try endpoint() == "http://127.0.0.1:4318/v1/traces")
    }

    @Test("a proxy that cannot be used is an error at start for every URL that is called, and not for those that need no proxy")
    func proxies() throws {
        var environment = [
            "COACH_ENV": "development", "COACH_JWT_SECRET": tokenSecret, "DATABASE_URL": "postgres://127.0.0.1/x",
            "https_proxy": "http://u:secret@p:x", SettingKey.jwksURL.name: "https://id.example/keys",
            SettingKey.alertWebhookURL.name: "https://alerts.example/hook", SettingKey.alertWebhookSecret.name: "s",
            SettingKey.tracesEndpoint.name: "https://traces.example/v1/traces", SettingKey.revenueCatAPIKey.name: "k",
            SettingKey.playAudience.name: "a", SettingKey.playEmail.name: "e",
        ]
        let called: [SettingKey] = [.jwksURL, .alertWebhookURL, .tracesEndpoint, .revenueCatAPI, .playKeys]
        func findings() -> [String] { GatewayConfiguration.read(Settings(environment: environment), environment: environment).findings }
        for key in called {
            let found = findings().filter { $0.hasPrefix("\(key.name): https_proxy: is no URL of a proxy") }
            #expect(found.count == 1 && found.first?.contains("secret") == false, "\(key.name)")
        }
        #expect(findings().count == called.count)

        environment["no_proxy"] = "id.example,alerts.example,traces.example,api.revenuecat.com,www.googleapis.com"
        #expect(findings() == [])
        environment["no_proxy"] = "10.0.0.0/33"
        environment["https_proxy"] = "http://proxy.example:3128"
        #expect(findings().count == called.count, "a malformed exception is an error, too")
        environment["no_proxy"] = nil
        #expect(findings() == [])
    }

    @Test("an instance is not ready while neither database nor disk can save an answer, and ready again when one can")
    func storage() async throws {
        struct Full: Error {}
        let storage = StorageMonitor()
        let script = Script()
        let ledger = storage.watch(
            TurnRepository(
                begin: { _, _, _ in throw Full() }, repeated: { _, _ in nil }, retry: { _, _ in throw Full() },
                repeatedRetry: { _, _ in nil }, raiseRisk: { _, _, _ in },
                finish: { _ in
                    if let fault = script.fault { throw fault }
                    return .finalized
                }, abandon: { _, _ in }))
        let spool = storage.watch(ReceiptSpool(keep: { _ in throw Full() }, discard: { _ in }, pending: { _ in [] }))
        #expect(throws: Full.self) { try spool.keep(Self.receipt) }
        script.fault = StoreFault.unexpected("this receipt")
        await #expect(throws: StoreFault.self) { try await ledger.finish(Self.receipt) }
        #expect(storage.takesAnswers, "the database refused a receipt, not receipts")
        script.fault = StoreFault.unavailable(retryAfter: 1)
        await #expect(throws: StoreFault.self) { try await ledger.finish(Self.receipt) }
        #expect(!storage.takesAnswers)
        script.fault = nil
        _ = try await ledger.finish(Self.receipt)
        #expect(storage.takesAnswers)
    }

    @Test("an instance is not ready when the database has taken no renewal of its lease for seconds, and ready again with the first")
    func lease() async throws {
        let lease = LeaseMonitor()
        let script = Script()
        let recovery = lease.watch(
            TurnRecovery(
                renewLease: {
                    if let fault = script.fault { throw fault }
                    return []
                }, checkpoint: { _, _ in nil }, load: { _, _ in nil }, tail: { _ in [] }, requestStop: { _, _ in false },
                orphans: { _ in [] }))
        script.fault = StoreFault.unavailable(retryAfter: 1)
        await #expect(throws: StoreFault.self) { try await recovery.renewLease() }
        #expect(lease.takesWrites(), "one renewal may fail")
        let later = ContinuousClock.now + LeaseMonitor.patience
        await #expect(throws: StoreFault.self) { try await recovery.renewLease() }
        #expect(!lease.takesWrites(at: later))
        script.fault = nil
        _ = try await recovery.renewLease()
        #expect(lease.takesWrites(at: later))
    }

    private static let receipt = TurnReceipt(
        userID: .random(),
        identity: TurnIdentity(
            turnID: .random(), conversationID: .random(), userMessageID: .random(), messageID: .random(), attempt: 1),
        status: .complete, finishReason: .stop, content: "", bill: nil,
        domain: .undecided, risk: .calm,
        errorCode: nil, timeToFirstTokenMilliseconds: nil, durationMilliseconds: 0)
}

/// The scripted state of the database.
private final class Script: @unchecked Sendable {
    // Used by one test, sequentially.
    var fault: StoreFault?
}
