import Foundation
import JSON

/// Port to the lists of a user's data, each in an order that does not change. They include deleted conversations and messages that are still kept.
/// `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
///
/// A closure with `after` returns the elements after that one; nil: from the first.
public struct ExportRepository: Sendable {
    public var conversations: @Sendable (Caller, _ after: ConversationID?, _ limit: Int) async throws -> [ConversationRecord]
    public var messages: @Sendable (Caller, _ after: MessageID?, _ limit: Int) async throws -> [ConversationMessage]
    /// Every decision, not only the latest of each kind.
    public var consents: @Sendable (Caller, _ after: Int64?, _ limit: Int) async throws -> [ExportedConsent]
    public var reports: @Sendable (Caller, _ after: ReportID?, _ limit: Int) async throws -> [Report]
    public var redemptions: @Sendable (Caller, _ after: PersonaID?, _ limit: Int) async throws -> [ExportedRedemption]
    /// The user's own that are not deleted.
    public var personas: @Sendable (Caller, _ after: PersonaID?, _ limit: Int) async throws -> [PersonaRecord]
    /// What the ledger has of the user's turns, also of those that were removed: tokens, cost, model. After the row with this key.
    public var modelCalls: @Sendable (Caller, _ after: String?, _ limit: Int) async throws -> [ExportedRow]
    /// The rows of a list after the row with this key.
    public var rows: @Sendable (Caller, ExportedList, _ after: String?, _ limit: Int) async throws -> [ExportedRow]
    /// The next of the user's own personas that has an avatar, with the avatar.
    public var avatar: @Sendable (Caller, _ after: PersonaID?) async throws -> ExportedAvatar?
    /// Whether the user is neither suspended nor removed. False from before the removal of the first row.
    public var isUserActive: @Sendable (Caller) async throws -> Bool

    public init(
        conversations: @escaping @Sendable (Caller, _ after: ConversationID?, _ limit: Int) async throws -> [ConversationRecord],
        messages: @escaping @Sendable (Caller, _ after: MessageID?, _ limit: Int) async throws -> [ConversationMessage],
        consents: @escaping @Sendable (Caller, _ after: Int64?, _ limit: Int) async throws -> [ExportedConsent],
        reports: @escaping @Sendable (Caller, _ after: ReportID?, _ limit: Int) async throws -> [Report],
        redemptions: @escaping @Sendable (Caller, _ after: PersonaID?, _ limit: Int) async throws -> [ExportedRedemption],
        personas: @escaping @Sendable (Caller, _ after: PersonaID?, _ limit: Int) async throws -> [PersonaRecord],
        modelCalls: @escaping @Sendable (Caller, _ after: String?, _ limit: Int) async throws -> [ExportedRow],
        rows: @escaping @Sendable (Caller, ExportedList, _ after: String?, _ limit: Int) async throws -> [ExportedRow],
        avatar: @escaping @Sendable (Caller, _ after: PersonaID?) async throws -> ExportedAvatar?,
        isUserActive: @escaping @Sendable (Caller) async throws -> Bool
    ) {
        self.conversations = conversations
        self.messages = messages
        self.consents = consents
        self.reports = reports
        self.redemptions = redemptions
        self.personas = personas
        self.modelCalls = modelCalls
        self.rows = rows
        self.avatar = avatar
        self.isUserActive = isUserActive
    }
}

/// Lists that only the export has. Raw values are the names of their files.
public enum ExportedList: String, Sendable, CaseIterable {
    /// Summaries of conversations, which a model made.
    case summaries
    /// How turns were answered, routed and assessed. Not those of previews.
    case turns
    /// By day (UTC).
    case usage
    /// What counts against limits of requests and messages, and when the notice of talking to a machine was given.
    case limits
    /// The levels of danger that are kept between turns.
    case safetyStates = "safety-states"
    /// What was found in messages in danger, and done about it.
    case crisisEvents = "crisis-events"
    /// The user's own until their content is removed. Lists of versions, cards and share links, and avatars, have theirs, too.
    case deletedPersonas = "deleted-personas"
    /// Published versions of the user's own personas, and the character cards they were imported from.
    case personaVersions = "persona-versions"
    case cards
    case shareLinks = "share-links"
    case pushTokens = "push-tokens"
}

/// A row of such a list, or a model call.
public struct ExportedRow: Sendable, Equatable {
    public var key: String
    public var json: JSONValue

    public init(key: String, json: JSONValue) {
        self.key = key
        self.json = json
    }
}

/// A picture and the persona whose avatar it is.
public struct ExportedAvatar: Sendable, Equatable {
    public var personaID: PersonaID
    public var image: AvatarImage

    public init(personaID: PersonaID, image: AvatarImage) {
        self.personaID = personaID
        self.image = image
    }
}

/// A decision with its place among the user's.
public struct ExportedConsent: Sendable, Equatable {
    public var sequence: Int64
    public var decision: ConsentRecord

    public init(sequence: Int64, decision: ConsentRecord) {
        self.sequence = sequence
        self.decision = decision
    }
}

/// A persona that the user got access to by a share link.
public struct ExportedRedemption: Sendable, Equatable {
    public var personaID: PersonaID
    public var redeemedAt: Date

    public init(personaID: PersonaID, redeemedAt: Date) {
        self.personaID = personaID
        self.redeemedAt = redeemedAt
    }
}
