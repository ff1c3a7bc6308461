import CoachCore
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird

/// `GET /api/v1/me/export`: everything of the user as one ZIP of JSON Lines files and avatars, streamed page by page.
public struct ExportRoutes: Feature {
    private let accounts: AccountRepository
    private let sources: AccountExport.Sources

    public init(
        accounts: AccountRepository, profiles: ContextProfileRepository, contents: ExportRepository, subscriptions: SubscriptionRoutes
    ) {
        self.accounts = accounts
        sources = AccountExport.Sources(profiles: profiles, contents: contents) { try await subscriptions.resource(of: $0) }
    }

    public func register(on routes: RouteTable) {
        let errors = routes.errors
        routes.authenticated("Account").get(
            "/api/v1/me/export",
            .init(
                "Export everything of the user: a ZIP of JSON Lines files, and of the avatars of their personas",
                response: .media("application/zip", .binary).streamed)
        ) { _, context in
            // Before the head: an error has its status. Later ones can only break the connection.
            let export = AccountExport(sources, context.caller, try await accounts.get(context.caller))
            var fields: HTTPFields = [.contentType: "application/zip", .cacheControl: "no-store"]
            fields[.contentDisposition] = "attachment; filename=\"coach-export.zip\""
            let body = ResponseBody { writer in
                var export = export
                while let bytes = try await Self.piece(of: &export, errors, context.requestID) {
                    try await writer.write(ByteBuffer(bytes: bytes))
                }
                try await writer.finish(nil)
            }
            return Response(status: .ok, headers: fields, body: body)
        }
    }

    /// The next piece of the archive. Logs why there is none, because the client sees only a closed connection.
    private static func piece(of export: inout AccountExport, _ errors: ErrorReporter, _ requestID: String) async throws -> [UInt8]? {
        do {
            return try await export.next()
        } catch let error where !(error is CancellationError) {
            errors.reportBreak(error, requestID: requestID)
            throw error
        }
    }
}
