import Foundation

/// What a `ShareLinkID` identifies; without values.
public enum ShareLinkSubject: Sendable {}
/// A link by which a creator shares a persona.
public typealias ShareLinkID = Identifier<ShareLinkSubject>

/// A new share link.
public struct ShareLinkDraft: Sendable, Equatable {
    /// For the creator only.
    public var label: String?
    /// How many users may redeem it; nil: any number.
    public var maximumUses: Int?
    public var expiresAt: Date?

    public init(label: String? = nil, maximumUses: Int? = nil, expiresAt: Date? = nil) {
        self.label = label
        self.maximumUses = maximumUses
        self.expiresAt = expiresAt
    }
}

/// A share link as its creator sees it.
public struct ShareLink: Sendable, Equatable {
    public var id: ShareLinkID
    public var token: String
    public var draft: ShareLinkDraft
    /// Users who redeemed it.
    public var uses: Int
    public var createdAt: Date

    public init(id: ShareLinkID, token: String, draft: ShareLinkDraft, uses: Int, createdAt: Date) {
        self.id = id
        self.token = token
        self.draft = draft
        self.uses = uses
        self.createdAt = createdAt
    }
}

extension ShareLink {
    /// Whether a text can be a token at all: base64url of a bounded length.
    public static func isToken(_ text: String) -> Bool {
        text.utf8.count <= 128 && text.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil
    }
}

/// Port to share links, to the access that they give, and to the version of a persona that a conversation has.
///
/// Closures throw `StoreFault`, and `Rejection` with `notFound`: the same for an unknown, a revoked and an expired link.
public struct PersonaSharing: Sendable {
    /// Links of a persona of the caller that are not revoked, newest first.
    public var links: @Sendable (Caller, PersonaID, PageRequest) async throws -> Page<ShareLink>
    /// Creates a link with a new token, or returns the one that has this id. Throws `tooManyItems` at 100 links of a
    /// persona, or at 1,000 with those that were revoked.
    public var create: @Sendable (Caller, PersonaID, ShareLinkID, ShareLinkDraft) async throws -> ShareLink
    /// Users who redeemed it before keep their access.
    public var revoke: @Sendable (Caller, PersonaID, ShareLinkID) async throws -> Void
    /// Gives the caller access; counts one use for each user.
    public var redeem: @Sendable (Caller, _ token: String) async throws -> PersonaID
    /// The persona behind a token, for anyone; counts nothing. nil when the link cannot be redeemed by a new user.
    public var shared: @Sendable (_ token: String) async throws -> PublishedPersona?
    /// The persona that answers in a conversation of the caller; `notFound` for a conversation without one, too, or whose persona was deleted or
    /// withdrawn.
    public var persona: @Sendable (Caller, ConversationID) async throws -> ConversationPersona
    /// Lets the conversation go on with the published version.
    public var acceptVersion: @Sendable (Caller, ConversationID) async throws -> ConversationPersona
    /// For operators: no turn uses the persona from then on. False when there is no such persona. Throws `NotAllowed`.
    public var withdraw: @Sendable (Caller, PersonaID, _ reason: String, _ requestID: String) async throws -> Bool

    public init(
        links: @escaping @Sendable (Caller, PersonaID, PageRequest) async throws -> Page<ShareLink>,
        create: @escaping @Sendable (Caller, PersonaID, ShareLinkID, ShareLinkDraft) async throws -> ShareLink,
        revoke: @escaping @Sendable (Caller, PersonaID, ShareLinkID) async throws -> Void,
        redeem: @escaping @Sendable (Caller, String) async throws -> PersonaID,
        shared: @escaping @Sendable (String) async throws -> PublishedPersona?,
        persona: @escaping @Sendable (Caller, ConversationID) async throws -> ConversationPersona,
        acceptVersion: @escaping @Sendable (Caller, ConversationID) async throws -> ConversationPersona,
        withdraw: @escaping @Sendable (Caller, PersonaID, String, String) async throws -> Bool
    ) {
        self.links = links
        self.create = create
        self.revoke = revoke
        self.redeem = redeem
        self.shared = shared
        self.persona = persona
        self.acceptVersion = acceptVersion
        self.withdraw = withdraw
    }
}
