import HTTPTypes
import Hummingbird

/// Whether a load balancer should send traffic to this instance, with details.
public struct InstanceReadiness: Sendable {
    /// Whether the database answered recently.
    public var database: Bool
    /// Whether new turns are accepted.
    public var accepting: Bool
    /// Whether the database takes writes.
    public var writing: Bool
    /// Whether the database or the disk can save the answers of turns that end.
    public var saving: Bool
    /// Whether users' tokens can be verified.
    public var keys: Bool
    /// Further details for operators, by name.
    public var details: [String: String]

    public init(
        database: Bool, accepting: Bool, writing: Bool = true, saving: Bool = true, keys: Bool = true, details: [String: String] = [:]
    ) {
        self.database = database
        self.accepting = accepting
        self.writing = writing
        self.saving = saving
        self.keys = keys
        self.details = details
    }

    var isReady: Bool { database && accepting && writing && saving && keys }
}

/// `GET /healthz`: the process runs. `GET /readyz`: the instance should get traffic; without reasons, which only the metrics port shows.
struct HealthRoutes: Feature {
    let readiness: @Sendable () async -> InstanceReadiness

    func register(on routes: RouteTable) {
        let group = routes.open("Health", addressLimit: .none)
        let health = RouteDescription("The process runs", response: .media("application/json"))
        group.get("/healthz", health) { _, _ in Self.answer(.ok) }
        let ready = RouteDescription("The instance should get traffic; 503 when not", response: .media("application/json"))
        group.get("/readyz", ready) { _, _ in await answer() }
    }

    private func answer() async -> Response { Self.answer(await readiness().isReady ? .ok : .serviceUnavailable) }

    private static func answer(_ status: HTTPResponse.Status) -> Response {
        .json(Array((status == .ok ? #"{"status":"ok"}"# : #"{"status":"unavailable"}"#).utf8), status: status)
    }
}
