import Foundation

/// Port to the sessions of operators in a browser. Every instance knows the sessions that another one opened. Closures throw `StoreFault`.
public struct OperatorSessions: Sendable {
    /// Opens a session of the caller until their token expires. Throws `NotAllowed` unless they are an operator.
    public var open: @Sendable (Caller, SessionToken) async throws -> Void
    /// When a session ends; nil when there is none, or it has ended.
    public var expiry: @Sendable (SessionToken) async throws -> Date?
    /// Ends a session. False, and without effect, when there is none, or it has ended.
    public var close: @Sendable (SessionToken) async throws -> Bool

    public init(
        open: @escaping @Sendable (Caller, SessionToken) async throws -> Void,
        expiry: @escaping @Sendable (SessionToken) async throws -> Date?,
        close: @escaping @Sendable (SessionToken) async throws -> Bool
    ) {
        self.open = open
        self.expiry = expiry
        self.close = close
    }
}

/// What the browser keeps of a session: its user, and a secret of which the store has a keyed hash only.
public struct SessionToken: Sendable, Equatable {
    private static let secretByteCount = 32
    private static let userByteCount = 16

    public let userID: UserID
    /// 32 random bytes.
    public let secret: [UInt8]

    /// A new one with a random secret.
    public static func random(for userID: UserID) -> SessionToken {
        SessionToken(userID: userID, secret: .random(count: secretByteCount))
    }

    private init(userID: UserID, secret: [UInt8]) {
        self.userID = userID
        self.secret = secret
    }

    /// Parses `text`; nil for anything else.
    public init?(_ text: some StringProtocol) {
        guard let bytes = Base64URL.decode(Array(text.utf8)), bytes.count == Self.userByteCount + Self.secretByteCount else { return nil }
        let uuid = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        self.init(userID: UserID(uuid), secret: Array(bytes.dropFirst(Self.userByteCount)))
    }

    /// The form in the cookie: base64url.
    public var text: String { Base64URL.encode(withUnsafeBytes(of: userID.uuid.uuid) { Array($0) } + secret) }
}
