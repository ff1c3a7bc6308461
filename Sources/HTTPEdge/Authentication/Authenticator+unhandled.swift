import CoachCore
import HTTPTypes
import Hummingbird

extension Authenticator {
    /// Counts a request that no handler takes: against its caller's limit, without a valid token against that of its address. Returns its error with
    /// the rate limit, or the error of a limit that is reached.
    func countUnhandled(
        _ error: GatewayError, _ request: Request, _ context: GatewayContext, _ errors: ErrorReporter
    ) async -> GatewayError {
        do throws(GatewayError) {
            guard let caller = try? await authenticate(request.headers[.authorization]) else {
                try await unauthenticated.count(request.headers, from: context.channel)
                return error
            }
            let acceptLanguage = request.headers[.acceptLanguage]
            let counted = try await count(caller, isOfTurn: false, acceptLanguage: acceptLanguage) {
                errors.clientError(for: $0, requestID: context.requestID)
            }
            return complete(error, with: counted, acceptLanguage: acceptLanguage)
        } catch let rejection {
            return rejection.code == .databaseUnavailable ? error : rejection
        }
    }
}
