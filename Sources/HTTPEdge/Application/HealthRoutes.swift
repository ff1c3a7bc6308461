import HTTPTypes
import Hummingbird

/// Whether this instance should get traffic, with details.
public struct InstanceReadiness: Sendable {
    /// The database answered recently.
    public var database: Bool
    /// New turns are accepted.
    public var accepting: Bool
    /// The database or the disk can save the answers of turns that end.
    public var saving: Bool
    /// Further details for operators, by name.
    public var details: [String: String]

    public init(database: Bool, accepting: Bool, saving: Bool = true, details: [String: String] = [:]) {
        self.database = database
        self.accepting = accepting
        self.saving = saving
        self.details = details
    }

    var isReady: Bool { database && accepting && saving }
}

/// `GET /healthz`: the process lives. `GET /readyz`: it should get traffic; the status only, the reasons are on the metrics port.
struct HealthRoutes: Feature {
    let readiness: @Sendable () async -> InstanceReadiness

    func register(on routes: RouteTable) {
        let group = routes.open("Health", addressLimit: .none)
        let health = RouteDescription("The process lives", response: .media("application/json"))
        group.get("/healthz", health) { _, _ in Self.answer(.ok) }
        group.head("/healthz", health) { _, _ in Self.answer(.ok) }
        let ready = RouteDescription("The instance should get traffic; 503 when not", response: .media("application/json"))
        group.get("/readyz", ready) { _, _ in await answer() }
        group.head("/readyz", ready) { _, _ in await answer() }
    }

    private func answer() async -> Response { Self.answer(await readiness().isReady ? .ok : .serviceUnavailable) }

    private static func answer(_ status: HTTPResponse.Status) -> Response {
        let text = status == .ok ? #"{"status":"ok"}"# : #"{"status":"unavailable"}"#
        return Response(bytes: Array(text.utf8), type: "application/json; charset=utf-8", status: status)
    }
}
