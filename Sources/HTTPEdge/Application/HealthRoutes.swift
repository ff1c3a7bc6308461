import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON

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

    /// Whether all are true.
    public var isReady: Bool { database && accepting && writing && saving && keys }
}

/// `GET /healthz`: the process runs. `GET /readyz`: the instance should get traffic; without reasons, which only the metrics port shows.
struct HealthRoutes: Feature {
    let readiness: @Sendable () async -> InstanceReadiness

    func register(on routes: RouteTable) {
        let group = routes.open("Health", addressLimit: .none)
        let success = RouteResponse.media("application/json", InstanceStatus.ok.schema)
        group.get("/healthz", RouteDescription("The process runs", response: success)) { _, _ in InstanceStatus.ok.response }
        let ready = RouteDescription(
            "The instance should get traffic; 503 with `Retry-After` when not", response: success,
            ownFailures: [503: InstanceStatus.unavailable.schema])
        group.get("/readyz", ready) { _, _ in (await readiness().isReady ? InstanceStatus.ok : .unavailable).response }
    }
}

private enum InstanceStatus: String {
    case ok, unavailable

    var schema: Schema { .object([.init("status", .values([rawValue]))]) }

    var response: Response {
        var response = Response.json(
            JSONWriter.encode { writer in writer.object { $0.member("status", rawValue) } },
            status: self == .ok ? .ok : .serviceUnavailable)
        // As every 503 (CONTRACT §2).
        if self == .unavailable { response.headers[.retryAfter] = "1" }
        return response
    }
}
