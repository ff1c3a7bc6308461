import CoachCore
import Foundation
import HTTPEdge
import Identity
import Logging
import OutboundHTTP
import PersonaAPI
import PostgresClient
import TokenRelay

/// Where the gateway runs.
enum DeploymentEnvironment: String, CaseIterable, Sendable {
    case production, development
}

/// How statements are sent: named ones break behind a transaction pooler.
enum StatementNaming: String, CaseIterable, Sendable {
    case prepared, unnamed

    var mode: PostgresConfiguration.StatementMode { self == .prepared ? .prepared : .unnamed }
}

/// The typed configuration. Made only when every value could be read.
struct GatewayConfiguration: Sendable {
    var environment: DeploymentEnvironment
    var listen: ListenAddress
    var metricsListen: ListenAddress?
    var root: URL
    var logLevel: Logger.Level
    var databaseURL: String?
    var databaseListenURL: String?
    var migrationURL: String?
    var databasePassword: String?
    var databaseConnections: Int
    var statements: StatementNaming
    var jwtSecret: String?
    var jwksURL: String?
    var jwksFile: String?
    var jwtAudience: String
    var jwtIssuer: String?
    var corsOrigins: [String]
    var trustedProxies: TrustedProxies
    var stateDirectory: URL
    var drain: Duration
    var drainNotice: Duration
    var maximumTurns: Int
    var deletedContentDays: Int
    /// 0: the whole ledger is kept.
    var ledgerDays: Int
    var requiredConsents: RequiredConsents
    var webhooks: WebhookSettings
    var appLinks: AppLinks
    var traces: TraceSettings
    var alertWebhook: AlertWebhookSettings?
    /// The process environment: provider keys are looked up in it by the names that `deploy/models.json` gives. The simulator takes any
    /// key, so it gets one.
    var processEnvironment: [String: String]

    /// How providers are reached. Each running turn may leave a connection behind for the next.
    var transfers: TransferConfiguration { TransferConfiguration(idleConnections: maximumTurns, libcurlTransfers: maximumTurns) }

    /// Reads everything; `findings` has a line for each value that is wrong, and is empty exactly when the result is not nil.
    static func read(_ settings: Settings, environment: [String: String]) -> (configuration: GatewayConfiguration?, findings: [String]) {
        var settings = settings
        let deployment = settings.choice(.environment, DeploymentEnvironment.self)
        let host = settings.host(.host)
        let port = settings.integer(.port, in: 0...65535)
        let metrics = settings.address(.metricsListen)
        let level = settings.choice(.logLevel, Logger.Level.self)
        let connections = settings.integer(.databaseConnections, in: 1...1000)
        let statements = settings.choice(.databaseStatements, StatementNaming.self)
        let drain = settings.integer(.drainSeconds, in: 0...3600)
        let notice = settings.integer(.drainNotice, in: 0...3600)
        let turns = settings.integer(.maximumTurns, in: 1...1_000_000)
        let deletedDays = settings.integer(.deletedContentDays, in: 0...36_500)
        let ledgerDays = settings.integer(.ledgerDays, in: 0...36_500)
        if let ledgerDays, (1..<31).contains(ledgerDays) { settings.complain(.ledgerDays, "\(ledgerDays) is neither 0 nor at least 31") }
        let consents = Self.requiredConsents(&settings)
        let webhooks = WebhookSettings(&settings)
        let appLinks = AppLinks(&settings)
        let traces = TraceSettings(&settings)
        let alertWebhook = AlertWebhookSettings(&settings)
        let root = DataFolders.find(settings.text(.root))
        if root == nil { settings.complain(.root, "no folder with db, prompts, domains and deploy was found") }
        if let secret = settings.text(.jwtSecret), secret.utf8.count < 32 { settings.complain(.jwtSecret, "is shorter than 32 bytes") }
        let origins = settings.list(.corsOrigins)
        for defect in origins.compactMap(WebOrigin.defect) { settings.complain(.corsOrigins, defect) }
        let proxies = settings.list(.trustedProxies)
        for text in proxies where AddressBlock(text) == nil {
            settings.complain(.trustedProxies, "\"\(text)\" is neither an address nor a network")
        }
        Self.check(&settings, alertWebhook, traces, webhooks, environment)
        guard settings.findings.isEmpty, let deployment, let host, let port, let level, let connections, let statements, let drain,
            let notice, let turns, let deletedDays, let ledgerDays, let root
        else { return (nil, settings.findings) }
        let configuration = GatewayConfiguration(
            environment: deployment, listen: ListenAddress(host: host, port: port), metricsListen: metrics, root: root, logLevel: level,
            databaseURL: settings.text(.databaseURL), databaseListenURL: settings.text(.databaseListenURL) ?? settings.text(.databaseURL),
            migrationURL: settings.text(.migrationURL) ?? settings.text(.databaseURL), databasePassword: settings.text(.databasePassword),
            databaseConnections: connections, statements: statements, jwtSecret: settings.text(.jwtSecret),
            jwksURL: settings.text(.jwksURL), jwksFile: settings.text(.jwksFile), jwtAudience: settings.text(.jwtAudience) ?? "",
            jwtIssuer: settings.text(.jwtIssuer),
            corsOrigins: origins, trustedProxies: TrustedProxies(proxies.compactMap { AddressBlock($0) }),
            stateDirectory: settings.text(.stateDirectory).map { URL(fileURLWithPath: $0) }
                ?? root.appendingPathComponent(".coach/state"),
            drain: .seconds(drain), drainNotice: .seconds(notice), maximumTurns: turns, deletedContentDays: deletedDays,
            ledgerDays: ledgerDays, requiredConsents: consents, webhooks: webhooks, appLinks: appLinks, traces: traces,
            alertWebhook: alertWebhook, processEnvironment: environment.merging(["COACH_SIMULATOR_KEY": "any"]) { own, _ in own })
        return (configuration, [])
    }

    /// Reports addresses, keys' files and proxies that cannot be used.
    private static func check(
        _ settings: inout Settings, _ alertWebhook: AlertWebhookSettings?, _ traces: TraceSettings, _ webhooks: WebhookSettings,
        _ environment: [String: String]
    ) {
        for key in [SettingKey.databaseURL, .databaseListenURL, .migrationURL] {
            if let url = settings.text(key), !PostgresConfiguration.isConnectionString(url) {
                // Without any part of it, because each may be a part of the password.
                settings.complain(
                    key,
                    "is no connection string that libpq understands as it is meant: in a URL the password must be percent-encoded "
                        + "(%2F for /, %40 for @)")
            }
        }
        do {
            if let url = settings.text(.jwksURL) { try KeySource.check(url: url) }
        } catch {
            settings.complain(.jwksURL, "\(error)")
        }
        if let file = settings.text(.jwksFile), !FileManager.default.isReadableFile(atPath: file) {
            settings.complain(.jwksFile, "\(file) cannot be read")
        }
        // Those of model providers are checked with their configuration.
        settings.checkProxies(
            for: [
                (.jwksURL, settings.text(.jwksURL)), (.alertWebhookURL, alertWebhook?.url), (.tracesEndpoint, traces.endpoint),
                (.revenueCatAPI, webhooks.revenueCatAPI?.url), (.playKeys, webhooks.play?.keys),
                (.playAPI, webhooks.play.flatMap { $0.serviceAccount == nil ? nil : $0.api }),
                (.playServiceAccount, webhooks.play?.serviceAccount?.tokenURL),
            ], environment: environment)
    }

    private static func requiredConsents(_ settings: inout Settings) -> RequiredConsents {
        let kinds = settings.list(.requiredConsents).map { ConsentKind(rawValue: $0) }
        if kinds.contains(nil) {
            let all = ConsentKind.allCases.map(\.rawValue).joined(separator: ", ")
            settings.complain(.requiredConsents, "each must be one of \(all)")
        }
        return RequiredConsents(Set(kinds.compactMap { $0 }))
    }

    /// The key set that verifies users' tokens; nil when none is set.
    func userKeys(_ client: OutboundHTTPClient) throws -> ConfiguredKeySet? {
        if let jwksURL { return ConfiguredKeySet(key: .jwksURL, source: try .url(jwksURL, client: client)) }
        return jwksFile.map { ConfiguredKeySet(key: .jwksFile, source: .file($0)) }
    }

    /// Loopback is exempt in development (CONTRACT §1).
    func unauthenticatedRequests(_ tiers: LiveValue<TierBook>) -> UnauthenticatedRequestLimiter {
        UnauthenticatedRequestLimiter(
            proxies: trustedProxies, exemptsLoopback: environment == .development,
            perMinute: { tiers.current.unauthenticatedRequestsPerMinute })
    }

    /// How other services are called.
    var outbound: OutboundConfiguration {
        var outbound = OutboundConfiguration()
        outbound.proxies = ProxyRules(environment: processEnvironment)
        return outbound
    }

    /// Why the state directory cannot be used; nil when it can, or can be made. Makes nothing, because `check` may run as another user than `serve`.
    var stateDirectoryDefect: String? {
        // The first slot, because its folder may be writable where the directory is not, as a volume of its own.
        var folder = stateDirectory.standardizedFileURL.appendingPathComponent("1")
        while access(folder.path, F_OK) != 0, errno == ENOENT, folder.path != "/" { folder.deleteLastPathComponent() }
        // Of a file, this is no path.
        if access(folder.path + "/.", W_OK | X_OK) == 0 { return nil }
        let reason = String(cString: strerror(errno))
        return "\(stateDirectory.path) cannot be made or written: \(reason)"
    }

    /// What does not keep a gateway from serving and should not stay so: connections whose server need not prove its name, a key set that is not read,
    /// and line ends in secrets.
    var warnings: [String] {
        let urls = [
            (SettingKey.databaseURL, databaseURL), (.databaseListenURL, databaseListenURL == databaseURL ? nil : databaseListenURL),
            (.migrationURL, migrationURL == databaseURL ? nil : migrationURL),
        ]
        var warnings = urls.flatMap { key, url in
            PostgresConfiguration.unverifiedHosts(of: url ?? "").map { "\(key.name): \($0) is not this machine: set \(Self.verification)" }
        }
        if jwksURL != nil, jwksFile != nil {
            warnings.append("\(SettingKey.jwksFile.name): is not read, because \(SettingKey.jwksURL.name) is set")
        }
        let secrets = [(SettingKey.databasePassword, databasePassword), (.jwtSecret, jwtSecret)]
        for (key, value) in secrets where value?.last?.isNewline == true {
            warnings.append("\(key.name): ends with a line end, which is taken as a part of it")
        }
        if environment == .production, let notice = webhookNotice { warnings.append(notice) }
        return warnings
    }

    /// Debian's authorities are named because libpq 15 looks only into `~/.postgresql/root.crt` (PostgreSQL manual, 34.19.1).
    private static let verification = "sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt"

    /// Tells that no purchase can arrive; nil when RevenueCat is configured.
    var webhookNotice: String? {
        guard webhooks.revenueCat == nil else { return nil }
        return "\(SettingKey.revenueCatAuthorization.name): neither it nor \(SettingKey.revenueCatSecret.name) is set: "
            + "webhook-revenuecat answers 503"
    }
}
