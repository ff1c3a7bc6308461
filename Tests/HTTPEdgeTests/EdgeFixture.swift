import CoachCore
import Foundation
import HTTPTypes
import Hummingbird
import Identity
import JSON
import Logging
import NIOCore
import NIOEmbedded
import Synchronization

@testable import HTTPEdge

/// The router of an application with one feature, called without sockets.
struct EdgeFixture {
    private static let secret = "a secret of at least thirty-two bytes"

    let counter: FakeCounter
    let idempotency = FakeIdempotency()
    let sessions = FakeSessions()
    private let application: GatewayApplication
    private let secret: SharedSecret

    /// - Parameter danger: the stored level of every user, as far as it is known without the database.
    init(
        _ feature: some Feature, counter: FakeCounter = FakeCounter(), unauthenticated: UnauthenticatedRequestLimiter = .unlimited,
        danger: SafetyLevel = .calm
    ) throws {
        self.counter = counter
        secret = try SharedSecret(Self.secret)
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let resources = try CrisisResources(json: Array(Data(contentsOf: root.appending(path: "domains/safety/resources.json"))))
        application = GatewayApplication(
            .init(host: "127.0.0.1", port: 0, corsOrigins: []), features: [feature],
            authenticator: Authenticator(
                identity: TokenVerifier(policy: TokenPolicy(), secret: secret, keySet: nil),
                sessions: SessionAuthentication(store: sessions.port, publicOrigin: "https://coach.example"), counter: counter.port,
                crisisResources: resources, recentDanger: { _ in (danger, .unknown) }, unauthenticated: unauthenticated),
            idempotency: idempotency.port,
            readiness: { InstanceReadiness(database: true, accepting: true) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onListening: { _ in })
    }

    /// - Parameter role: nil for an ordinary user.
    func token(_ role: Role? = nil, user: UserID = .random()) throws -> String {
        try DevelopmentTokens.mint(user: user, role: role, ttl: .seconds(60), secret: secret, inProduction: false, now: Date())
    }

    /// - Parameter address: of the client; nil for one without a limit.
    func send(
        _ method: HTTPRequest.Method, _ path: String, token: String? = nil, headers: HTTPFields = [:], body: String = "",
        from address: String? = nil
    ) async throws -> EdgeAnswer {
        var head = HTTPRequest(method: method, scheme: "http", authority: "test", path: path, headerFields: headers)
        if let token { head.headerFields[.authorization] = "Bearer \(token)" }
        let request = Request(head: head, body: .init(buffer: ByteBuffer(string: body)))
        let channel: any Channel = try address.map(Self.channel) ?? EmbeddedChannel()
        let context = GatewayContext(source: .init(channel: channel, logger: Logger(label: "test")))
        let responder = application.router(RequestLog(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })).buildResponder()
        let response = try await responder.respond(to: request, context: context)
        let collected = CollectedBody()
        try await response.body.write(collected)
        return EdgeAnswer(status: response.status.code, headers: response.headers, body: collected.bytes.withLock { $0 })
    }
}

extension EdgeFixture {
    /// Its event loop runs by itself, which the limiter of addresses waits for.
    private static func channel(to address: String) throws -> any Channel {
        let channel = NIOAsyncTestingChannel()
        channel.remoteAddress = try SocketAddress(ipAddress: address, port: 1)
        return channel
    }
}

extension UnauthenticatedRequestLimiter {
    static let unlimited = UnauthenticatedRequestLimiter(exemptsLoopback: false, perMinute: { nil })
}

struct EdgeAnswer {
    var status: Int
    var headers: HTTPFields
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
    var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
    var errorCode: String? { json["error"]?["code"]?.string }
    var details: JSONValue { json["error"]?["details"] ?? .null }
}

/// A request counter with a scripted outcome.
final class FakeCounter: Sendable {
    struct State {
        var calls = 0
        var level = SafetyLevel.calm
        var error: (any Error)?
        var isNewUser = false
        /// The next count waits for its end.
        var answers: AsyncStream<Never>?
    }
    let state = Mutex(State())

    static let rate = RateLimit(limit: 10, remaining: 7, resetAt: 60)

    var calls: Int { state.withLock(\.calls) }

    var port: RequestCounter {
        RequestCounter(
            take: { [self] _, _ in
                if let answers = state.withLock({ $0.answers.take() }) { for await _ in answers {} }
                return try state.withLock { state in
                    if let error = state.error { throw error }
                    state.calls += 1
                    return CountedRequest(
                        rate: Self.rate, safetyLevel: state.level, region: Region(country: "GB"), isNewUser: state.isNewUser)
                }
            }, giveBackMessage: { _, _ in })
    }
}

private final class CollectedBody: ResponseBodyWriter {
    let bytes = Mutex<[UInt8]>([])

    func write(_ buffer: ByteBuffer) async throws { bytes.withLock { $0 += buffer.readableBytesView } }
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
