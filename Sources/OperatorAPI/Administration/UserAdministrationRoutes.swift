import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/operator/users`: the state of an account, suspension and its end. Both changes are in the audit log.
public struct UserAdministrationRoutes: Feature {
    private let users: UserAdministration
    private let now: @Sendable () -> Date

    public init(users: UserAdministration, now: @escaping @Sendable () -> Date = { Date() }) {
        self.users = users
        self.now = now
    }

    public func register(on routes: RouteTable) {
        let operators = routes.authenticated("Operators").require(.operator)
        operators.get(
            "/api/v1/operator/users",
            .init(
                "Get the state of an account", parameters: [.init("id", in: .query, .id, required: true)],
                response: .data(AccountStatusResource.schema))
        ) { request, context in
            guard let id = request.uri.queryParameters["id"].flatMap({ UserID(validating: $0) }) else {
                throw GatewayError(.invalidInput, "id must be a UUID").naming(field: "id")
            }
            // Taken before the read, so that the status is at least as new.
            return try await status(id, context, FigureMeta(asOf: Timestamp(now())))
        }
        let suspension = RouteDescription(
            "Suspend another user; all their requests are refused within 10 s",
            body: Self.suspension, response: .data(AccountStatusResource.schema))
        operators.post("/api/v1/operator/users/{id}/suspend", suspension) { request, context in
            let id = try id(context)
            // Otherwise the last operator could suspend themselves, and nobody could end it.
            guard id != context.caller.userID else {
                throw GatewayError(.invalidInput, "operators do not suspend themselves").naming(field: "id")
            }
            let reason = try await request.read(Self.suspension)
            guard try await users.suspend(context.caller, id, reason, context.requestID) else { throw GatewayError.notFound }
            return try await status(id, context)
        }
        operators.post(
            "/api/v1/operator/users/{id}/unsuspend",
            .init(
                "End a suspension", body: Self.endOfSuspension, response: .data(AccountStatusResource.schema))
        ) { request, context in
            let id = try id(context)
            let reason = try await request.read(Self.endOfSuspension)
            guard try await users.unsuspend(context.caller, id, reason, context.requestID) else { throw GatewayError.notFound }
            return try await status(id, context)
        }
    }

    private static let suspension = JSONBody("Suspension") { (body) throws(JSONFinding) in
        let reason = try body.required("reason", .text(1...1000))
        if reason == UserAdministration.reservedReason { try body.report("reason", .invalid("is reserved")) }
        return reason
    }

    private static let endOfSuspension = JSONBody("EndOfSuspension", mayBeEmpty: true) { (body) throws(JSONFinding) in try body.reason }

    private func status(_ id: UserID, _ context: AuthenticatedContext, _ figures: FigureMeta? = nil) async throws -> Response {
        guard let status = try await users.status(context.caller, id) else { throw GatewayError.notFound }
        return .envelope(context, AccountStatusResource(id, status), figures: figures)
    }

    private func id(_ context: AuthenticatedContext) throws(GatewayError) -> UserID { try context.path("id", UserID.init(validating:)) }
}

extension AccountStatusResource {
    fileprivate init(_ id: UserID, _ status: AccountStatus) {
        self.init(
            id: id.uuid, createdAt: Timestamp(status.createdAt), suspendedAt: status.suspendedAt.map { Timestamp($0) },
            suspendedReason: status.suspendedReason, entitlements: status.entitlements,
            accessUntil: status.accessUntil.map { Timestamp($0) },
            lastTurnAt: status.lastTurnAt.map { Timestamp($0) }, runningTurns: status.runningTurns, messagesToday: status.messagesToday,
            spentToday: MoneyText.format(nanodollars: status.spentToday.raw), unpricedTurnsToday: status.unpricedTurnsToday)
    }
}
