import Foundation

/// A UUID that knows what it identifies, so that a turn can never be passed where a user is meant.
/// Written in lower case everywhere (CONTRACT §2).
public struct Identifier<Subject>: Hashable, Sendable, CustomStringConvertible {
    /// The 128 bits.
    public let uuid: UUID

    /// Wraps an existing UUID.
    public init(_ uuid: UUID) { self.uuid = uuid }

    /// A new random (version 4) identifier.
    public static func random() -> Self { Self(UUID.random()) }

    /// Parses the canonical 36-character form, any case; nil for everything else.
    public init?(validating text: some StringProtocol) {
        guard let uuid = UUID(canonical: text) else { return nil }
        self.uuid = uuid
    }

    /// The canonical form in lower case.
    public var description: String { uuid.canonicalText }
}

/// Names the subject of a `UserID`.
public enum UserSubject: Sendable {}
/// Names the subject of a `TurnID`.
public enum TurnSubject: Sendable {}
/// Names the subject of a `ConversationID`.
public enum ConversationSubject: Sendable {}
/// Names the subject of a `MessageID`.
public enum MessageSubject: Sendable {}
/// Names the subject of a `PersonaID`.
public enum PersonaSubject: Sendable {}

/// The person who talks to the coach; the `sub` of the token.
public typealias UserID = Identifier<UserSubject>
/// One user message and the answer to it.
public typealias TurnID = Identifier<TurnSubject>
/// A thread of turns.
public typealias ConversationID = Identifier<ConversationSubject>
/// One saved message, the user's or the coach's.
public typealias MessageID = Identifier<MessageSubject>
/// A coaching persona made by a creator.
public typealias PersonaID = Identifier<PersonaSubject>
