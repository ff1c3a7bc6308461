import CoachCore
import GatewayAPI
import HTTPTypes
import Hummingbird

/// A strong entity tag (RFC 9110 §8.8.3) made from the version of a resource.
public struct EntityTag: Sendable, Equatable {
    /// Of answers with a tag. A proxy that compresses an answer makes its tag weak, which `If-Match` never matches (RFC 9110 §13.1.1); `no-transform`
    /// forbids it (§7.7).
    static let cacheControl = "no-store, no-transform"

    public let version: Int64

    public init(version: Int64) { self.version = version }

    /// `"v12"`.
    var text: String { "\"v\(version)\"" }

    /// Nil for a weak tag and for a tag of another form: neither can match (RFC 9110 §8.8.3.2).
    init?(_ text: some StringProtocol) {
        guard text.hasPrefix("\"v"), text.hasSuffix("\""), let version = Int64(text.dropFirst(2).dropLast()) else { return nil }
        self.version = version
        // Not "v03".
        guard self.text == text else { return nil }
    }
}

extension RouteParameter {
    /// The `If-Match` header: the `ETag` of the version that the client wants to change.
    public static let ifMatch = RouteParameter("If-Match", in: .header, .text, required: true)
    /// The same where a change without it is one of any version.
    public static let optionalIfMatch = RouteParameter("If-Match", in: .header, .text)
    /// The `If-None-Match` header: the `ETag` of the version that the client has.
    static let ifNoneMatch = RouteParameter("If-None-Match", in: .header, .text)
}

/// The versions on which a client allows a change, from its `If-Match` header (RFC 9110 §13.1.1).
public enum ExpectedVersion: Sendable, Equatable {
    /// `*`, or no header where it is optional.
    case any
    case oneOf([Int64])

    /// The argument of the port that makes the change, which compares versions in the same statement; nil: any version.
    public var versions: [Int64]? { if case .oneOf(let versions) = self { versions } else { nil } }

    /// Throws `StaleVersion` unless a change of this version is allowed.
    public func require(_ current: Int64) throws(StaleVersion) {
        if let versions, !versions.contains(current) { throw StaleVersion() }
    }
}

extension Request {
    /// Reads `If-Match`. Throws `BIZ_2008` with status 428 when it is required and missing.
    public func expectedVersion(required: Bool) throws(GatewayError) -> ExpectedVersion {
        let fields = headers[values: .ifMatch]
        guard !fields.isEmpty else {
            if required { throw GatewayError(.preconditionFailed, "If-Match is required", status: 428) }
            return .any
        }
        // One without a tag matches no version.
        let values = fields.flatMap { $0.split(separator: ",") }.map(\.withoutOptionalWhitespace)
        return values.contains("*") ? .any : .oneOf(values.compactMap { EntityTag($0)?.version })
    }

    /// Whether `If-None-Match` contains the tag: the client already has this version.
    func hasCurrent(_ tag: EntityTag) -> Bool {
        let values = headers[values: .ifNoneMatch].flatMap { $0.split(separator: ",") }.map { String($0.withoutOptionalWhitespace) }
        return values.contains { value in value == "*" || value == tag.text || value == "W/" + tag.text }
    }
}

extension Response {
    /// Adds the `ETag`, and keeps it strong. For a GET or HEAD with a matching `If-None-Match` returns 304 without a body instead.
    public func tagged(_ tag: EntityTag, for request: Request) -> Response {
        var response = self
        if request.method == .get || request.method == .head, request.hasCurrent(tag) {
            response = Response(status: .notModified)
        }
        response.headers[.eTag] = tag.text
        response.headers[.cacheControl] = EntityTag.cacheControl
        return response
    }
}
