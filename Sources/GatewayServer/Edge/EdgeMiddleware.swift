import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird
import NIOCore

/// Around every request: its id, errors in the form that the client reads, who may read it, one log line.
struct EdgeMiddleware: RouterMiddleware {
    let log: RequestLog
    let crossOrigin: CrossOrigin

    func handle(_ request: Request, context: GatewayContext, next: @concurrent (Request, GatewayContext) async throws -> Response)
        async throws
        -> Response
    {
        var context = context
        context.requestID = RequestIdentifier.choose(request.headers)
        var response: Response
        do {
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
        log.record(
            requestID: context.requestID, method: request.method.rawValue, route: context.endpointPath ?? "none",
            status: response.status.code, milliseconds: context.arrivedAt.duration(to: .now).milliseconds)
        return response
    }

    /// What a thrown error means to the client. What nobody foresaw is logged with its type and told as `SYS_5000`.
    private func understand(_ error: any Error, _ context: GatewayContext) -> GatewayError {
        if case StoreFault.unexpected(let reason)? = error as? StoreFault { report(reason, context) }
        if let known = GatewayError(known: error) { return known }
        report("\(type(of: error))", context)
        return GatewayError(.unforeseen, "unforeseen error")
    }

    private func report(_ reason: String, _ context: GatewayContext) {
        log.logger.error("unforeseen error", metadata: ["request_id": "\(context.requestID)", "error": "\(reason)"])
    }
}
