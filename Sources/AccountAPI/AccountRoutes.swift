import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import JSON

/// `/api/v1/me`: the user's own account, what they used, and its removal.
public struct AccountRoutes: Feature {
    private let accounts: AccountRepository

    public init(accounts: AccountRepository) { self.accounts = accounts }

    public func register(on routes: RouteTable) {
        let users = routes.authenticated("Account")
        users.get("/api/v1/me", .init("Get the user's account", response: .data(MeResource.schema))) { _, context in
            .envelope(context, MeResource(try await accounts.get(context.caller)))
        }
        users.patch(
            "/api/v1/me", .init("Change the account (RFC 7396)", body: AccountChange.body, response: .data(MeResource.schema))
        ) { request, context in
            let change = try await request.read(AccountChange.body)
            return .envelope(context, MeResource(try await accounts.patch(context.caller, change.patch)))
        }
        users.get(
            "/api/v1/me/usage",
            .init("Get the usage of this day and this month (UTC), and the messages left today", response: .data(UsageResource.schema))
        ) { _, context in
            .envelope(context, UsageResource(try await accounts.usage(context.caller)))
        }
        users.delete(
            "/api/v1/me",
            .init(
                """
                Remove the account and everything in it. Without a confirmation: 428 with `details.confirmation`, which is valid once and for ten \
                minutes
                """,
                parameters: [.init("confirmation", in: .query, .text)],
                response: .data(.object([.init("status", .values(["removing"]))]), status: .accepted), failures: [412, 428])
        ) { try await remove($0, $1) }
    }

    private func remove(_ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        guard let confirmation = request.uri.queryParameters["confirmation"] else {
            var error = GatewayError(.preconditionFailed, "the removal must be confirmed: repeat with ?confirmation=", status: 428)
            error.userMessage = "This deletes everything we have shared, for good. Please confirm that you want this."
            error.details.append(("confirmation", .string(try await accounts.prepareRemoval(context.caller))))
            throw error
        }
        // Any other text has no place in a statement: it may have U+0000.
        guard confirmation.wholeMatch(of: /[0-9a-f]{64}/) != nil,
            try await accounts.confirmRemoval(context.caller, String(confirmation))
        else {
            throw GatewayError(.preconditionFailed, "the confirmation is not valid any more")
        }
        return .envelope(context, status: .accepted) { writer in writer.object { $0.member("status", "removing") } }
    }
}

extension MeResource {
    init(_ record: AccountRecord) {
        self.init(
            id: record.id.uuid, displayName: record.displayName, locale: record.locale, country: record.country, timeZone: record.timeZone,
            isMinor: record.isMinor, createdAt: Timestamp(record.createdAt), updatedAt: Timestamp(record.updatedAt))
    }
}

extension UsageResource {
    fileprivate init(_ usage: AccountUsage) {
        self.init(
            day: usage.day.description, messagesToday: usage.messagesToday, tier: usage.tier, messagesPerDay: usage.messagesPerDay,
            messagesRemaining: usage.messagesRemaining,
            resetsAt: Timestamp(millisecondsSince1970: Int64(usage.day.endUnixSeconds) * 1000), turns: usage.turns,
            inputTokens: usage.usage.totalInput ?? 0, cachedInputTokens: usage.usage.cachedInput ?? 0,
            outputTokens: usage.usage.totalOutput ?? 0, cost: MoneyText.format(nanodollars: usage.cost.raw),
            unpricedCalls: usage.unpricedCalls)
    }
}
