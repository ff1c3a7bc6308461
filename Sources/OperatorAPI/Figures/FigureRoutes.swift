import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import Hummingbird
import JSON

/// `/api/v1/operator/…`: figures of all users as JSON, CSV or JSON Lines, the calls and users behind them, users' reports, alerts, and the health of
/// providers. No content of messages.
public struct FigureRoutes: Feature {
    /// The largest `limit`, in rows.
    static let longestTable = 5_000
    /// Without a `limit`.
    static let usualTable = 1_000

    private let figures: Figures
    private let now: @Sendable () -> Date

    public init(figures: Figures, now: @escaping @Sendable () -> Date = { Date() }) {
        self.figures = figures
        self.now = now
    }

    public func register(on routes: RouteTable) {
        let operators = routes.authenticated("Figures").require(.operator)
        for figure in Figure.all {
            operators.get(
                "/api/v1/operator/\(figure.path)",
                .init(
                    "\(figure.summary); the last 30 days by default", parameters: figure.parameters,
                    response: .list(figure.comparedSchema).figures)
            ) { try await table(figure, $0, $1) }
        }
        registerTraces(on: operators)
        registerReports(on: operators)
    }

    /// The calls and users behind figures.
    private func registerTraces(on operators: RouteGroup<AuthenticatedContext>) {
        operators.get(
            "/api/v1/operator/calls",
            .init(
                Figure.calls.summary,
                parameters: FigurePeriod.parameters + PageQuery.cursorParameters + Figure.traceKeys.map(Self.parameter(of:)),
                response: .list(Figure.calls.schema).figures)
        ) { request, context in
            let query = try CallQuery(request, now: now())
            let table = try await figures.calls(context.caller, query, try PageQuery.read(request))
            return respond(request, context, table, Figure.calls.columns)
        }
        operators.get(
            "/api/v1/operator/\(Figure.retentionUsers.path)",
            .init(
                Figure.retentionUsers.summary,
                parameters: FigurePeriod.parameters + PageQuery.cursorParameters + RetentionQuery.parameters,
                response: .list(Figure.retentionUsers.schema).figures)
        ) { request, context in
            let query = try RetentionQuery(request, now: now())
            let table = try await figures.retentionUsers(context.caller, query, try PageQuery.read(request))
            return respond(request, context, table, Figure.retentionUsers.columns)
        }
    }

    /// Users' reports, the health of providers, what alerts measure, and the alerts.
    private func registerReports(on operators: RouteGroup<AuthenticatedContext>) {
        operators.get(
            "/api/v1/operator/reports",
            .init(Figure.reports.summary, parameters: PageQuery.cursorParameters, response: .list(Figure.reports.schema).figures)
        ) { request, context in
            let table = try await figures.reports(context.caller, try PageQuery.read(request))
            return respond(request, context, table, Figure.reports.columns)
        }
        for (figure, read) in [(Figure.health, figures.health), (Figure.measures, figures.measures)] {
            operators.get("/api/v1/operator/\(figure.path)", .init(figure.summary, response: .list(figure.schema).figures)) {
                request, context in
                respond(request, context, try await read(context.caller), figure.columns)
            }
        }
        operators.get(
            "/api/v1/operator/alerts",
            .init(
                Figure.alerts.summary,
                parameters: PageQuery.cursorParameters + [.init("state", in: .query, .values(AlertState.allCases.map(\.rawValue)))],
                response: .list(Figure.alerts.schema).figures)
        ) { request, context in
            let text = request.uri.queryParameters["state"]
            let state = text.flatMap { AlertState(rawValue: String($0)) }
            guard text == nil || state != nil else {
                throw GatewayError(.invalidInput, "state must be firing or resolved").naming(field: "state")
            }
            let table = try await figures.alerts(context.caller, state.map { $0 == .firing }, try PageQuery.read(request))
            return respond(request, context, table, Figure.alerts.columns)
        }
    }

    /// A parameter of the list of calls.
    private static func parameter(of key: FigureColumn) -> RouteParameter {
        let schema: Schema =
            switch key.name {
            case "error": .boolean.described("true: calls that count as errors of their provider; false: others")
            case "error_code": .text.described("empty: calls without one; \(CallQuery.anyError): calls with one")
            default: .text.described("empty: calls without one")
            }
        return RouteParameter(key.name, in: .query, schema)
    }

    private enum AlertState: String, CaseIterable {
        case firing, resolved
    }

    private func table(_ figure: Figure, _ request: Request, _ context: AuthenticatedContext) async throws -> Response {
        let query = try FigureQuery(request, figure, now: now())
        var table = try await figures.table(context.caller, figure, query)
        var columns = figure.columns
        if try request.comparesWithPrevious() {
            let comparison = FigureComparison(figure, query)
            let former = try await figures.table(context.caller, figure, comparison.previous(of: table))
            // Rows beyond would seem to have no period before.
            guard former.nextCursor == nil else {
                throw GatewayError(.invalidInput, "the period before has more than \(Self.longestTable) rows: choose fewer groups")
                    .naming(field: "compare")
            }
            table.rows = comparison.rows(table, former)
            columns = FigureComparison.columns(of: figure)
        }
        return respond(request, context, table, columns, trace: query.trace(of: figure))
    }

    private func respond(
        _ request: Request, _ context: AuthenticatedContext, _ table: FigureTable, _ columns: [FigureColumn], trace: String? = nil
    ) -> Response {
        let keys = columns.map { JSONWriter.EncodedKey($0.name) }
        return .list(
            request, context, Page(items: table.rows, nextCursor: table.nextCursor), fields: columns.map(\.field),
            figures: FigureMeta(asOf: table.asOf.map { Timestamp($0) }, trace: trace)
        ) { row, writer in
            writer.object { writer in
                for (key, value) in zip(keys, row) {
                    writer.key(key)
                    value.write(to: &writer)
                }
            }
        }
    }
}
