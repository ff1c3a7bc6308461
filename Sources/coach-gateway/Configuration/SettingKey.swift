/// One configuration key. `deploy/README.md` has the same table; a test compares them.
struct SettingKey: Sendable {
    /// The name of the environment variable, and of the member in the configuration file.
    let name: String
    /// What holds when it is not set; nil when nothing does.
    let fallback: String?
    /// One line for people.
    let meaning: String
    /// Never printed.
    var secret = false

    static let all: [SettingKey] = [
        environment, host, port, metricsListen, root, logLevel, databaseURL, databaseListenURL, migrationURL, databasePassword,
        databaseConnections, databaseStatements, jwtSecret, jwksURL, jwksFile, jwtAudience, jwtIssuer, corsOrigins, trustedProxies,
        stateDirectory, drainSeconds, drainNotice, maximumTurns, deletedContentDays, ledgerDays, requiredConsents, publicOrigin,
        appleAppIDs, androidApps,
        revenueCatAuthorization, revenueCatSecret, revenueCatSignatureHeader, revenueCatAPIKey, revenueCatAPI, stripeSecret,
        appStoreBundleID, appStoreAppID, appStoreRoot,
        playAudience, playEmail, playKeys, playPackage, playServiceAccount, playAPI,
        storeProducts, foldStoreEvents, billingSandbox, webhookRate,
        alertWebhookURL, alertWebhookSecret, tracesEndpoint, tracesHeaders, tracesSampled, traceServiceName,
    ]
    /// Those whose line ends belong to the value: whoever issues the tokens, or logs in, may have them, too.
    static let exact: [SettingKey] = [databasePassword, jwtSecret]

    static let environment = SettingKey(
        name: "COACH_ENV", fallback: "production", meaning: "`production` or `development`; development opens the `token` command")
    static let host = SettingKey(name: "COACH_HOST", fallback: "127.0.0.1", meaning: "listen address")
    static let port = SettingKey(name: "COACH_PORT", fallback: "8080", meaning: "listen port; 0 picks a free one")
    static let metricsListen = SettingKey(
        name: "COACH_METRICS_LISTEN", fallback: "127.0.0.1:9464",
        meaning: "`host:port` of `/metrics` and the details of `/readyz`; `off` for neither")
    static let root = SettingKey(
        name: "COACH_ROOT", fallback: nil,
        meaning: "folder that holds `db`, `prompts`, `domains`, `deploy`; default: the working folder or the nearest above the executable")
    static let logLevel = SettingKey(
        name: "COACH_LOG_LEVEL", fallback: "info", meaning: "`trace`, `debug`, `info`, `notice`, `warning`, `error`, `critical`")
    static let databaseURL = SettingKey(
        name: "DATABASE_URL", fallback: nil,
        meaning: "libpq connection string or URL of the login role `coach_gateway`; the password in a URL is percent-encoded", secret: true)
    static let databaseListenURL = SettingKey(
        name: "DATABASE_LISTEN_URL", fallback: nil, meaning: "the same, past a transaction pooler, for LISTEN; default `DATABASE_URL`",
        secret: true)
    static let migrationURL = SettingKey(
        name: "COACH_MIGRATION_URL", fallback: nil,
        meaning:
            "connection of the owner of the schema, past a transaction pooler, for `migrate`, `seed` and `reprice`; default `DATABASE_URL`",
        secret: true)
    static let databasePassword = SettingKey(
        name: "COACH_DATABASE_PASSWORD", fallback: nil,
        meaning: "when set, `migrate` gives the login role `coach_gateway` this password", secret: true)
    static let databaseConnections = SettingKey(
        name: "COACH_DATABASE_CONNECTIONS", fallback: "4",
        meaning:
            "shared connections of turns, a user's statements on one; 19 more: checkpoints 2, resources 4, figures 6, others' text 2, webhooks 4, LISTEN 1"
    )
    static let databaseStatements = SettingKey(
        name: "COACH_DATABASE_STATEMENTS", fallback: "prepared", meaning: "`prepared`, or `unnamed` behind a transaction pooler")
    static let jwtSecret = SettingKey(
        name: "COACH_JWT_SECRET", fallback: nil, meaning: "HS256 secret of the users' tokens, at least 32 bytes", secret: true)
    static let jwksURL = SettingKey(
        name: "COACH_JWKS_URL", fallback: nil, meaning: "key set (RS256, ES256, EdDSA), refreshed in the background")
    static let jwksFile = SettingKey(
        name: "COACH_JWKS_FILE", fallback: nil, meaning: "the same from a file, read again when it changes; not beside `COACH_JWKS_URL`")
    static let jwtAudience = SettingKey(name: "COACH_JWT_AUDIENCE", fallback: "authenticated", meaning: "required `aud`")
    static let jwtIssuer = SettingKey(name: "COACH_JWT_ISSUER", fallback: nil, meaning: "required `iss`; any when not set")
    static let corsOrigins = SettingKey(
        name: "COACH_CORS_ORIGINS", fallback: "",
        meaning: "origins of browser clients, `scheme://host[:port]`, separated by commas; no patterns, none by default")
    static let trustedProxies = SettingKey(
        name: "COACH_TRUSTED_PROXIES", fallback: "",
        meaning: "networks (CIDR) of proxies that name the client: `Forwarded`, `X-Forwarded-For`, PROXY protocol; none by default")
    static let stateDirectory = SettingKey(
        name: "COACH_STATE_DIR", fallback: nil,
        meaning:
            "folder of this machine's instances: identity, and what waits on disk for the database; default `.coach/state` under the root")
    static let drainSeconds = SettingKey(
        name: "COACH_DRAIN_SECONDS", fallback: "30", meaning: "how long SIGTERM lets running turns end, seconds")
    static let drainNotice = SettingKey(
        name: "COACH_DRAIN_NOTICE_SECONDS", fallback: "1",
        meaning: "of these, how long readiness is false before connections are refused: as long as the proxy takes to see it")
    static let maximumTurns = SettingKey(
        name: "COACH_MAX_TURNS", fallback: "2000", meaning: "turns that may run at once in this process; more are refused with `SYS_5001`")
    static let deletedContentDays = SettingKey(
        name: "COACH_DELETED_CONTENT_DAYS", fallback: "30",
        meaning: "days after which the content of deleted conversations and personas is removed; what it cost stays in the ledger")
    static let ledgerDays = SettingKey(
        name: "COACH_LEDGER_DAYS", fallback: "730",
        meaning: "days, at least 31, after which a day of the ledger is detached: it stays as a table of schema `ledger`; 0: never")

    static let requiredConsents = SettingKey(
        name: "COACH_REQUIRE_CONSENT", fallback: "",
        meaning: "consents that chat needs, separated by commas: `ai_processing`, `memory`, `disclaimer`")
    static let publicOrigin = SettingKey(
        name: "COACH_PUBLIC_ORIGIN", fallback: nil,
        meaning:
            "`scheme://host[:port]` at which users reach the gateway; the address of pages of share links, and an origin of the dashboard")
    static let appleAppIDs = SettingKey(
        name: "COACH_APPLE_APP_IDS", fallback: "",
        meaning: "`TEAMID.bundle.id`, separated by commas: apps that open share links, by `/.well-known/apple-app-site-association`")
    static let androidApps = SettingKey(
        name: "COACH_ANDROID_APPS", fallback: "",
        meaning:
            "`package=fingerprint`, separated by commas: the same by `/.well-known/assetlinks.json`; SHA-256 of the signing certificate")

    static let revenueCatAuthorization = SettingKey(
        name: "REVENUECAT_WEBHOOK_AUTH", fallback: nil,
        meaning: "whole `Authorization` header of RevenueCat's webhook", secret: true)
    static let revenueCatSecret = SettingKey(
        name: "REVENUECAT_WEBHOOK_HMAC_SECRET", fallback: nil,
        meaning: "signing secrets of RevenueCat's webhook, separated by commas; with both credentials both must match", secret: true)
    static let revenueCatSignatureHeader = SettingKey(
        name: "REVENUECAT_WEBHOOK_SIGNATURE_HEADER", fallback: "X-RevenueCat-Webhook-Signature",
        meaning: "header of the signature")
    static let revenueCatAPIKey = SettingKey(
        name: "REVENUECAT_API_KEY", fallback: nil,
        meaning: "secret key of RevenueCat's REST API v1: subscribers are reconciled after webhooks, before they expire, and when overdue",
        secret: true)
    static let revenueCatAPI = SettingKey(
        name: "REVENUECAT_API_URL", fallback: "https://api.revenuecat.com", meaning: "where that API is")
    static let stripeSecret = SettingKey(
        name: "STRIPE_WEBHOOK_SECRET", fallback: nil,
        meaning: "signing secrets of Stripe's endpoint, separated by commas; its events: Sources/Webhooks/Stripe/StripeEvent.swift",
        secret: true)
    static let appStoreBundleID = SettingKey(
        name: "APPSTORE_BUNDLE_ID", fallback: nil,
        meaning: "bundle id whose App Store notifications are accepted")
    static let appStoreAppID = SettingKey(
        name: "APPSTORE_APP_ID", fallback: nil,
        meaning: "the app's number, which production notifications must have; not checked when not set")
    static let appStoreRoot = SettingKey(
        name: "APPSTORE_ROOT_CERTIFICATE", fallback: nil,
        meaning: "file of Apple Root CA - G3 (DER), the only trusted root")
    static let playAudience = SettingKey(
        name: "PLAY_PUSH_AUDIENCE", fallback: nil,
        meaning: "audience of the Pub/Sub push subscription, by default its URL")
    static let playEmail = SettingKey(
        name: "PLAY_PUSH_EMAIL", fallback: nil,
        meaning: "service account of the Pub/Sub push subscription")
    static let playKeys = SettingKey(
        name: "PLAY_PUSH_KEYS_URL", fallback: "https://www.googleapis.com/oauth2/v3/certs",
        meaning: "key set that verifies its tokens")
    static let playPackage = SettingKey(
        name: "PLAY_PACKAGE", fallback: nil,
        meaning: "package whose Google Play notices are accepted; any when not set")
    static let playServiceAccount = SettingKey(
        name: "PLAY_SERVICE_ACCOUNT", fallback: nil,
        meaning: "JSON key file of the service account that looks purchases up; without it Google Play notices are stored and ignored")
    static let playAPI = SettingKey(
        name: "PLAY_API_URL", fallback: "https://androidpublisher.googleapis.com", meaning: "where the Google Play Developer API is")
    static let storeProducts = SettingKey(
        name: "COACH_STORE_PRODUCTS", fallback: "",
        meaning: "`product=entitlement`, separated by commas: entitlements of the stores' product and price ids")
    static let foldStoreEvents = SettingKey(
        name: "COACH_FOLD_STORE_EVENTS", fallback: nil,
        meaning: "`true` or `false`: whether direct store events change entitlements; default: unless RevenueCat is configured")
    static let billingSandbox = SettingKey(
        name: "COACH_BILLING_SANDBOX", fallback: "false",
        meaning: "`true`: purchases of the sandbox give access; for development only")
    static let webhookRate = SettingKey(
        name: "COACH_WEBHOOK_RATE", fallback: nil,
        meaning:
            "billing events a second that this instance stores, default 700 a processor; more wait, the longer the slower turns begin, and are 503 after 5 s"
    )
    static let tracesEndpoint = SettingKey(
        name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", fallback: nil,
        meaning: "URL of an OpenTelemetry collector, such as `http://127.0.0.1:4318/v1/traces`, that gets the spans of turns as OTLP/JSON")
    static let tracesHeaders = SettingKey(
        name: "OTEL_EXPORTER_OTLP_HEADERS", fallback: nil, meaning: "`name=value` headers for it, separated by commas", secret: true)
    static let tracesSampled = SettingKey(
        name: "OTEL_TRACES_SAMPLER_ARG", fallback: "1",
        meaning: "share of turns to trace, 0 to 1; a request's `traceparent` decides for its turn")
    static let traceServiceName = SettingKey(
        name: "OTEL_SERVICE_NAME", fallback: "coach-gateway", meaning: "`service.name` of the spans")
    static let alertWebhookURL = SettingKey(
        name: "COACH_ALERT_WEBHOOK_URL", fallback: nil, meaning: "address that is told when an alert begins and ends")
    static let alertWebhookSecret = SettingKey(
        name: "COACH_ALERT_WEBHOOK_SECRET", fallback: nil,
        meaning: "signs these requests: `X-Webhook-Signature: t=…,v1=…`, HMAC-SHA256 of `{t}.{raw body}`", secret: true)
}
