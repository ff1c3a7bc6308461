import GatewayAPI
import HTTPTypes
import Hummingbird
import JSON
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The HTTP server of the metrics port, for operators: `/metrics`, and `/readyz` with details. Must not be public.
public struct MetricsApplication: Service {
    private let host: String
    private let port: Int
    private let readiness: @Sendable () async -> InstanceReadiness
    private let render: @Sendable (_ accept: String?) -> (contentType: String, body: [UInt8])
    private let onListening: @Sendable (Int) async -> Void

    /// `render` returns the metrics in the format for an `Accept` header. `onListening` gets the bound port, also when `port` is 0.
    public init(
        host: String, port: Int, readiness: @escaping @Sendable () async -> InstanceReadiness,
        render: @escaping @Sendable (_ accept: String?) -> (contentType: String, body: [UInt8]),
        onListening: @escaping @Sendable (Int) async -> Void
    ) {
        self.host = host
        self.port = port
        self.readiness = readiness
        self.render = render
        self.onListening = onListening
    }

    /// Listens until the task is cancelled or a graceful shutdown begins.
    public func run() async throws {
        let router = Router().add(middleware: CommonHeaders())
        let (render, readiness) = (render, readiness)
        router.get("/metrics") { request, _ -> Response in
            let (contentType, body) = render(request.headers[.accept])
            return Response(status: .ok, headers: [.contentType: contentType], body: .init(byteBuffer: ByteBuffer(bytes: body)))
        }
        router.get("/readyz") { _, _ -> Response in
            let state = await readiness()
            var response = Response(
                status: state.isReady ? .ok : .serviceUnavailable, headers: [.contentType: Response.jsonType],
                body: .init(byteBuffer: ByteBuffer(bytes: state.json)))
            if !state.isReady { response.headers[.retryAfter] = "1" }
            return response
        }
        let quiet = Logger.onlyCritical(label: "metrics")
        try await Application(
            router: router, server: .gateway(log: RequestLog(logger: quiet)), configuration: .init(address: .hostname(host, port: port)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? port) },
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), logger: quiet
        ).listen(host: host, port: port)
    }
}

extension InstanceReadiness {
    fileprivate var json: [UInt8] {
        JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("ready", isReady)
                writer.member("database", database)
                writer.member("accepting", accepting)
                writer.member("writing", writing)
                writer.member("saving", saving)
                writer.member("keys", keys)
                for (name, value) in details.sorted(by: { $0.key < $1.key }) {
                    writer.key(name)
                    writer.string(value)
                }
            }
        }
    }
}

/// The headers that every response of the gateway has (CONTRACT §2); `EdgeMiddleware` writes them on the public port.
private struct CommonHeaders<Context: RequestContext>: RouterMiddleware {
    func handle(_ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response) async throws
        -> Response
    {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        response.headers[.requestID] = RequestIdentifier.choose(request.headers)
        response.headers[.apiVersion] = ResponseMeta.version
        return response
    }
}
