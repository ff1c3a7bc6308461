import CoachCore
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import JSON

/// `/try`: a page to talk to the coach, for development. It answers requests from this machine only; for others it does not exist (CONTRACT §5).
public struct TryRoutes: Feature {
    private let assets = PageAssets(folder: "/try/assets", PageFile.named("try.js", "stream.js", "base.css", "try.css"))
    private let mint: @Sendable (UserID) throws -> String

    private static let user = JSONBody("TryUser") { (body) throws(JSONFinding) in try body.required("user", as: UserID.self) }

    /// `mint` makes a token for a user of the page.
    public init(mint: @escaping @Sendable (UserID) throws -> String) { self.mint = mint }

    public func register(on routes: RouteTable) {
        let group = routes.open("Development", addressLimit: .none)
        let page = assets.filled(PageFile("try.html"))
        group.get("/try", .init("A page to talk to the coach", response: .media("text/html", .text))) { request, _ in
            guard request.isLocal else { throw GatewayError.notFound }
            return page.page()
        }
        assets.register(on: group) { $0.isLocal }
        group.post(
            "/try/token",
            .init(
                "Make a token for a user of the page", body: Self.user,
                response: .data(Schema.object([.init("token", .text)]).named("TryToken")))
        ) { request, context in
            // Only the page itself can send JSON from a browser: other origins need a preflight, which is not answered for them.
            guard request.isLocal, request.headers[.contentType]?.hasPrefix("application/json") == true else { throw GatewayError.notFound }
            let token = try mint(try await request.read(Self.user))
            return .envelope(context) { writer in writer.object { $0.member("token", token) } }
        }
    }
}
