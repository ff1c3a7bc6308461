import CoachCore
import Foundation
import HTTPTypes

/// The cookie of an operator's session in a browser (RFC 6265).
enum SessionCookie {
    static let name = "coach_operator"

    /// The token in the `Cookie` headers; nil without a well-formed one.
    static func token(in headers: HTTPFields) -> SessionToken? {
        for pair in headers[values: .cookie].flatMap({ $0.split(separator: ";") }) {
            let text = pair.drop { $0 == " " }
            guard text.hasPrefix("\(name)=") else { continue }
            if let token = SessionToken(text.dropFirst(name.count + 1)) { return token }
        }
        return nil
    }

    /// The `Set-Cookie` header. `Path=/` covers both `/operator` and `/api/v1/operator`; other routes ignore it.
    static func setting(_ token: SessionToken, until expiresAt: Date, now: Date, isSecure: Bool) -> String {
        header(token.text, seconds: max(0, Int(expiresAt.timeIntervalSince(now))), isSecure)
    }

    /// The `Set-Cookie` header that removes it.
    static func removing(isSecure: Bool) -> String { header("", seconds: 0, isSecure) }

    private static func header(_ value: String, seconds: Int, _ isSecure: Bool) -> String {
        "\(name)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
    }
}
