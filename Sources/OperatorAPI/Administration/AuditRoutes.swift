import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `GET /api/v1/operator/audit`: what operators and creators changed, newest first.
public struct AuditRoutes: Feature {
    private let log: AuditLog
    private let now: @Sendable () -> Date

    public init(log: AuditLog, now: @escaping @Sendable () -> Date = { Date() }) {
        self.log = log
        self.now = now
    }

    public func register(on routes: RouteTable) {
        routes.authenticated("Operators").require(.operator).get(
            "/api/v1/operator/audit",
            .init(
                "List the audit log, newest first", parameters: PageQuery.cursorParameters,
                response: .list(AuditEntryResource.schema).figures)
        ) { request, context in
            let page = try PageQuery.read(request)
            // Taken before the read, so that every entry until then is in the list.
            let asOf = Timestamp(now())
            let entries = try await log.entries(context.caller, try page.numberCursor, page.limit + 1)
            return .list(
                request, context, Page(entries, limit: page.limit, number: \.sequence), figures: FigureMeta(asOf: asOf),
                AuditEntryResource.init)
        }
    }
}

extension AuditEntryResource {
    fileprivate init(_ entry: AuditEntry) {
        self.init(
            sequence: entry.sequence, actorID: entry.actor?.uuid, actorRole: entry.actorRole, action: entry.action, target: entry.target,
            beforeVersion: entry.beforeVersion, afterVersion: entry.afterVersion, reason: entry.reason, requestID: entry.requestID,
            createdAt: Timestamp(entry.createdAt), hash: Hexadecimal.encode(entry.hash))
    }
}
