import GatewayAPI
import HTTPTypes
import Hummingbird

/// Wraps every request: chooses its id, renders errors in the accepted format, writes the common headers and one log line.
struct EdgeMiddleware: RouterMiddleware {
    let log: RequestLog
    let crossOrigin: CrossOrigin
    let authenticator: Authenticator

    func handle(_ request: Request, context: GatewayContext, next: @concurrent (Request, GatewayContext) async throws -> Response)
        async throws -> Response
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
            let error = await counted(error, request, context)
            error.limit?.count()
            response = error.response(
                format: ErrorFormat(accept: request.headers[.accept], path: request.uri.path), requestID: context.requestID)
        }
        context.rateLimit.current?.write(to: &response.headers)
        crossOrigin.write(to: &response.headers, origin: request.headers[.origin])
        ShareLinkHeaders.write(to: &response.headers, path: request.uri.path)
        response.headers[.requestID] = context.requestID
        response.headers[.apiVersion] = ResponseMeta.version
        // Hummingbird would write the body of a response to HEAD, and the client would read it as the beginning of the next response.
        if request.method == .head { response = response.createHeadResponse() }
        log.record(
            requestID: context.requestID, method: request.method.rawValue, route: context.endpointPath ?? "none",
            status: response.status.code, milliseconds: context.arrivedAt.duration(to: .now).milliseconds)
        return response
    }

    /// The client error. One of a request that no handler takes, without a route or with another method, is counted here.
    private func counted(_ error: any Error, _ request: Request, _ context: GatewayContext) async -> GatewayError {
        let client = log.errors.clientError(for: error, requestID: context.requestID)
        let hasNoRoute = (error as? any HTTPResponseError)?.status == .notFound
        guard hasNoRoute || client.code == .methodNotAllowed else { return client }
        return await authenticator.countUnhandled(client, request, context, log.errors)
    }
}
