import CoachCore
import HTTPTypes
import Hummingbird

extension Authenticator {
    /// Counts a request that no handler takes: against its caller's limit, without a valid token against that of its address. Returns its error, or
    /// that of a limit that is reached.
    func countUnhandled(
        _ error: GatewayError, _ request: Request, _ context: GatewayContext, _ errors: ErrorReporter
    ) async -> GatewayError {
        do throws(GatewayError) {
            let caller: Caller
            do throws(GatewayError) {
                caller = try await authenticate(request.headers[.authorization])
            } catch let rejection {
                try await countRejected(rejection, request, context)
                return error
            }
            let counted = try await count(caller, isOfTurn: false, request, context, errors)
            return complete(error, with: counted, acceptLanguage: request.headers[.acceptLanguage])
        } catch let rejection {
            return rejection.code == .databaseUnavailable ? error : rejection
        }
    }
}
