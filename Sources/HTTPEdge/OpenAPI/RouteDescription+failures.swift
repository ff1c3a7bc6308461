import GatewayAPI

extension RouteDescription {
    /// The statuses of the errors that the route can answer with.
    var failureStatuses: [Int] {
        // Bad syntax, an unknown address of something, a query that is no text, limits, faults.
        var statuses: Set<Int> = [400, 404, 408, 413, 422, 429, 431, 500, 503]
        if !security.isOpen { statuses.formUnion([401, 403]) }
        if let ifMatch = parameters.first(where: { $0.name == RouteParameter.ifMatch.name }) {
            statuses.formUnion(ifMatch.isRequired ? [412, 428] : [412])
        }
        return statuses.union(failures).union(ownFailures.keys).sorted()
    }

    /// Whether an error with this status may be a page.
    func mayBePage(_ status: Int) -> Bool { form != nil || (hasNotFoundPage && status == 404) }
}

/// The error responses in `components/responses` of the OpenAPI document: one for each status, which lists its codes (CONTRACT §2).
enum FailureResponse {
    /// Codes that come with other statuses, too.
    private static let others: [Int: [GatewayError]] = [
        400: [GatewayError(RequestFault.malformed)], 408: [GatewayError(RequestFault.headTooSlow)],
        428: [GatewayError(.preconditionFailed, "")], 431: [GatewayError(RequestFault.headTooLarge)],
    ]

    static let statuses = Set(ErrorCode.allCases.map { ErrorMapping.row($0).status }).union(others.keys).sorted()

    /// An error in the form of OpenAI's protocol (CONTRACT §7).
    static let openAISchema = Schema.object([
        .init(
            "error",
            .object([
                .init("message", .text), .init("type", .text), .init("param", .text.nullable), .init("code", .text.nullable),
                .init("details", .any, required: false),
            ]))
    ])

    /// Media types of an error, with their schemas.
    static let media: [(type: String, schema: Schema)] = [
        ("application/json", Envelope.failureSchema), ("application/problem+json", Envelope.problemSchema),
        (RouteResponse.eventStream, .serverSentEvent(of: StreamEvent.schema)),
    ]

    static func name(_ status: Int) -> String { "Error\(status)" }

    static func description(_ status: Int) -> String {
        let codes = ErrorCode.allCases.filter { ErrorMapping.row($0).status == status }
        return (codes.map { GatewayError($0, "") } + (others[status] ?? [])).map { error in
            let action = error.action ?? ErrorMapping.row(error.code).action
            return "`\(error.code.rawValue)` (\(action.rawValue))"
        }.joined(separator: ", ")
    }
}
