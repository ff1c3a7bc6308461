import HTTPTypes
import Hummingbird
import NIOCore

/// Whether this instance should get traffic, and why not.
public struct InstanceReadiness: Sendable {
    /// The database answered lately.
    public var database: Bool
    /// New turns are accepted.
    public var accepting: Bool
    /// The database or the disk takes the answers of turns that end.
    public var saving: Bool
    /// Everything that operators look at, by name.
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
struct HealthRoutes: Sendable {
    let readiness: @Sendable () async -> InstanceReadiness

    func register(on router: some RouterMethods<GatewayContext>) {
        let health: @Sendable (Request, GatewayContext) async throws -> Response = { _, _ in Self.answer(.ok) }
        let ready: @Sendable (Request, GatewayContext) async throws -> Response = { _, _ in
            Self.answer(await readiness().isReady ? .ok : .serviceUnavailable)
        }
        router.route("/healthz", [.get: health, .head: health])
        router.route("/readyz", [.get: ready, .head: ready])
    }

    private static func answer(_ status: HTTPResponse.Status) -> Response {
        let text = status == .ok ? #"{"status":"ok"}"# : #"{"status":"unavailable"}"#
        return Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
