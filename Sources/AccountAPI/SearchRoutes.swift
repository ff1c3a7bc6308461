import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird

/// `GET /api/v1/messages/search`: the user's own messages that have all words of a query.
public struct SearchRoutes: Feature {
    private static let queryLimit = 200

    private let messages: MessageSearch

    public init(messages: MessageSearch) { self.messages = messages }

    public func register(on routes: RouteTable) {
        // A search indexes what is not indexed yet.
        routes.authenticated("Conversations").counting(.beforeHandler).get(
            "/api/v1/messages/search",
            .init(
                "Search the user's own messages, newest first",
                parameters: [
                    .init(
                        "q", in: .query, .text(maximumLength: Self.queryLimit).described("words; \"…\" is a phrase, - excludes a word"),
                        required: true)
                ] + PageQuery.cursorParameters, response: .list(FoundMessageResource.schema))
        ) { request, context in
            // Forms and most clients send a space as `+`, which separates words in any case.
            let text = request.uri.queryParameters["q"].map { String($0).replacing("+", with: " ") } ?? ""
            guard (1...Self.queryLimit).contains(text.unicodeScalars.count), !text.unicodeScalars.contains("\0") else {
                throw GatewayError(.invalidInput, "q must have 1 to \(Self.queryLimit) characters").naming(field: "q")
            }
            let page = try await messages.search(context.caller, text, try PageQuery.read(request))
            return .list(request, context, page, FoundMessageResource.init)
        }
    }
}
