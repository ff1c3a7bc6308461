import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Around every request: its id, the header limit, errors in the form that the client reads, who may read it, one log line.
struct EdgeMiddleware: RouterMiddleware {
    /// All header names and values together (CONTRACT §2).
    static let maximumHeaderBytes = 32 * 1024

    let logger: Logger
    let crossOrigin: CrossOrigin

    func handle(_ request: Request, context: GatewayContext, next: @concurrent (Request, GatewayContext) async throws -> Response)
        async throws
        -> Response
    {
        var context = context
        context.requestID = RequestIdentifier.choose(request.headers)
        var response: Response
        do {
            guard headerBytes(request) <= Self.maximumHeaderBytes else {
                throw GatewayError(.tooLarge, "the request's headers are larger than 32 KiB", status: 431)
            }
            if let preflight = crossOrigin.preflight(request) {
                response = preflight
            } else {
                response = try await next(request, context)
            }
        } catch {
            let known = understand(error, context)
            response = known.response(form: AnswerForm(accept: request.headers[.accept]), requestID: context.requestID)
        }
        crossOrigin.write(to: &response.headers, for: request)
        response.headers[.requestID] = context.requestID
        response.headers[.apiVersion] = ResponseMeta.version
        // Nothing below takes the body away, and the next response would begin with it.
        if request.method == .head { response = response.createHeadResponse() }
        log(request, response, context)
        return response
    }

    private func headerBytes(_ request: Request) -> Int {
        request.headers.reduce(request.head.path?.utf8.count ?? 0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
    }

    /// What a thrown error means to the client. What nobody foresaw is logged with its type and told as `SYS_5000`.
    private func understand(_ error: any Error, _ context: GatewayContext) -> GatewayError {
        if case StoreFault.unexpected(let reason)? = error as? StoreFault { report(reason, context) }
        if let known = GatewayError(known: error) { return known }
        report("\(type(of: error))", context)
        return GatewayError(.unforeseen, "unforeseen error")
    }

    private func report(_ reason: String, _ context: GatewayContext) {
        logger.error("unforeseen error", metadata: ["request_id": "\(context.requestID)", "error": "\(reason)"])
    }

    /// Route patterns, never paths: a path can hold a share token.
    private func log(_ request: Request, _ response: Response, _ context: GatewayContext) {
        TurnMetrics.request(route: context.endpointPath ?? "none", status: response.status.code)
        logger.info(
            "request",
            metadata: [
                "request_id": "\(context.requestID)", "method": "\(request.method.rawValue)", "route": "\(context.endpointPath ?? "none")",
                "status": "\(response.status.code)", "ms": "\(context.arrivedAt.duration(to: .now).milliseconds)",
            ])
    }
}
