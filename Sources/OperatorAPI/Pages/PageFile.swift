import CPageFiles
import Foundation
import HTTPEdge
import HTTPTypes
import Hummingbird
import OpenSSLCrypto

/// A file of the web pages, or a template of one.
struct PageFile: Sendable {
    enum Kind: String {
        case html, css
        case script = "js"

        var mediaType: String {
            switch self {
            case .html: "text/html; charset=utf-8"
            case .css: "text/css; charset=utf-8"
            case .script: "text/javascript; charset=utf-8"
            }
        }
    }

    let kind: Kind
    let bytes: [UInt8]

    init(_ kind: Kind, _ bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }

    /// A file of `CPageFiles`.
    init(_ name: String) {
        let kind = name.split(separator: ".").last.flatMap { Kind(rawValue: String($0)) }
        guard let file = page_file(name)?.pointee, let kind else { preconditionFailure("there is no page file \(name)") }
        // SAFETY: a constant of the executable.
        self.init(kind, Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    }

    /// Files of `CPageFiles` by their names.
    static func named(_ names: String...) -> [String: PageFile] {
        Dictionary(uniqueKeysWithValues: names.map { ($0, PageFile($0)) })
    }

    /// As Content-Security-Policy and subresource integrity write it.
    var hash: String { "sha256-\(Data(SHA256.hash(bytes)).base64EncodedString())" }

    /// A page whose scripts and styles come from this server alone. `scriptHash`: of the script by others that it may run, too (Chart.js).
    func page(status: HTTPResponse.Status = .ok, scriptHash: String? = nil) -> Response {
        var response = Response(bytes: bytes, type: kind.mediaType, status: status)
        let scripts = ["'self'", scriptHash.map { "'\($0)'" }].compactMap { $0 }.joined(separator: " ")
        response.headers[.contentSecurityPolicy] =
            "default-src 'none'; script-src \(scripts); style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
            + "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        response.headers[.xContentTypeOptions] = "nosniff"
        // With `no-referrer` browsers send `Origin: null`, and every form would look like one of another site.
        response.headers[.referrerPolicy] = "same-origin"
        response.headers[.crossOriginOpenerPolicy] = "same-origin"
        return response
    }

    /// A script or style sheet. `isCurrent`: its address has the current version, so that the content behind it never changes.
    func asset(isCurrent: Bool) -> Response {
        var response = Response(bytes: bytes, type: kind.mediaType)
        response.headers[.cacheControl] = isCurrent ? "public, max-age=31536000, immutable" : "no-cache"
        response.headers[.xContentTypeOptions] = "nosniff"
        return response
    }
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = Self("Referrer-Policy")!
    fileprivate static let crossOriginOpenerPolicy = Self("Cross-Origin-Opener-Policy")!
}
