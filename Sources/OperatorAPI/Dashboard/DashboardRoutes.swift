import Foundation
import GatewayAPI
import HTTPEdge
import HTTPTypes
import Hummingbird
import JSON

/// `/operator`: the dashboard, for operators who have signed in (CONTRACT §5). Its figures are those of `/api/v1/operator`.
public struct DashboardRoutes: Feature {
    private let assets: PageAssets
    /// The element that loads Chart.js; empty without it.
    private let chartElement: String
    private let chartHash: String?

    private let page = PageFile("dashboard.html")
    private let signInForm = PageFile("signin.html")
    private static let files = PageFile.named(
        "base.css", "dashboard.css", "signin.js", "app.js", "api.js", "dom.js", "format.js", "period.js", "charts.js",
        "table.js", "figures.js", "overview.js", "alerts.js", "audit.js", "editor.js", "difference.js", "users.js", "views.js")

    public init(charts: ChartLibrary) {
        let (name, chart) = ("chart.js", charts.script)
        let assets = PageAssets(folder: "/operator/assets", Self.files.merging(chart.map { [name: $0] } ?? [:]) { $1 })
        self.assets = assets
        chartHash = chart?.hash
        chartElement = chart.map { #"<script src="\#(assets.path(name))" integrity="\#($0.hash)" defer></script>"# } ?? ""
    }

    public func register(on routes: RouteTable) {
        let sessions = routes.browserSessions
        let group = routes.open("Dashboard", addressLimit: .none)
        let page = RouteDescription("The dashboard; for others the form to sign in", response: .media("text/html", .text))
        let view = RouteDescription(
            "A view of the dashboard", parameters: [.init("view", in: .path, .text)], response: .media("text/html", .text))
        group.get("/operator", page) { try await respond($0, $1, sessions) }
        group.get("/operator/{view}", view) { try await respond($0, $1, sessions) }
        assets.register(on: group)

        let session = Schema.object([.init("expires_at", .time)]).named("OperatorSession")
        group.get(
            "/operator/session", .init("Get when the browser's session ends", response: .data(session), failures: [401, 403])
        ) { request, context in
            let expiresAt = Timestamp(try await sessions.expiry(request, context))
            return .envelope(context) { $0.session(until: expiresAt) }
        }
        group.post(
            "/operator/session",
            .init(
                "Sign in with an operator's token: as `Authorization`, or as `\(Field.token)` of a form; sets the cookie of a session",
                form: Self.form, response: .data(session, status: .created), failures: [401, 403])
        ) { try await signIn($0, $1, sessions) }
        group.delete(
            "/operator/session", .init("Sign out: end the browser's session", response: .noContent, failures: [401, 403])
        ) { request, context in
            Response(status: .noContent, headers: [.setCookie: try await sessions.close(request, context), .cacheControl: "no-store"])
        }
    }

    /// Names of the fields of the form to sign in.
    private enum Field {
        static let token = "token"
        /// The view that opens after the sign-in.
        static let view = "view"
    }

    private static let form = Schema.object([.init(Field.token, .text), .init(Field.view, .text, required: false)]).named("SignInForm")

    /// Serves the dashboard also while the database is unavailable or the operator is over their limit.
    private func respond(_ request: Request, _ context: GatewayContext, _ sessions: BrowserSessions) async throws -> Response {
        var expiresAt = ""
        do throws(GatewayError) {
            expiresAt = Timestamp(try await sessions.expiry(request, context)).rfc3339
        } catch {
            if error.code == .unauthenticated || error.code == .forbidden { return signInPage() }
            // An unknown session from an address over its limit: 429.
            if error.limit == .address { throw error }
        }
        return assets.filled(page, ["chart": chartElement, "expires": expiresAt]).page(scriptHash: chartHash)
    }

    private func signIn(_ request: Request, _ context: GatewayContext, _ sessions: BrowserSessions) async throws -> Response {
        guard request.headers[.contentType]?.hasPrefix("application/x-www-form-urlencoded") == true, request.headers[.authorization] == nil
        else {
            let session = try await sessions.open(request.headers[.authorization], request, context)
            var response = Response.envelope(context, status: .created) { $0.session(until: Timestamp(session.expiresAt)) }
            response.headers[.setCookie] = session.setCookie
            return response
        }
        let body = try await request.collectBytes()
        let token = FormBody.value(of: Field.token, in: body)
        // After a failed sign-in the form stands under the address of the session, and its field has the view.
        let view = Self.view(at: FormBody.value(of: Field.view, in: body)) ?? Self.view(at: request.headers[.referer])
        do throws(GatewayError) {
            let session = try await sessions.open("Bearer \(token)", request, context)
            return Response(
                status: .seeOther,
                headers: [.setCookie: session.setCookie, .location: view ?? "/operator", .cacheControl: "no-store"])
        } catch {
            return signInPage(error, view: view)
        }
    }

    /// The path and query of a view, which opens after the sign-in. Nil for other pages.
    private static func view(at address: String?) -> String? {
        guard let page = address.flatMap({ URLComponents(string: $0) }) else { return nil }
        // Only the path is read, so the redirect stays on this origin.
        let path = page.percentEncodedPath
        guard path == "/operator" || (path.hasPrefix("/operator/") && path != "/operator/session") else { return nil }
        return path + (page.percentEncodedQuery.map { "?\($0)" } ?? "")
    }

    private func signInPage(_ error: GatewayError? = nil, view: String? = nil) -> Response {
        let problem = error.map { #"<p class="problem" role="alert">That did not work: \#(HTMLText.escaped($0.message)).</p>"# }
        let status = error.map { HTTPResponse.Status(code: $0.httpStatus) } ?? .ok
        let texts = ["problem": problem ?? "", "view": HTMLText.escaped(view ?? "")]
        var page = assets.filled(signInForm, texts).page(status: status)
        error?.write(to: &page.headers, status: status.code)
        return page
    }
}

extension JSONWriter {
    fileprivate mutating func session(until expiresAt: Timestamp) {
        object { $0.member("expires_at", expiresAt) }
    }
}
