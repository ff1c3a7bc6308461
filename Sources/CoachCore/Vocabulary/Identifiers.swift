import Foundation
import JSON

/// A UUID typed by its subject, so that the compiler rejects a turn's id in place of a user's. Text form in lower case (CONTRACT §2).
public struct Identifier<Subject>: Hashable, Sendable, CustomStringConvertible {
    public let uuid: UUID

    public init(_ uuid: UUID) { self.uuid = uuid }

    /// A new random (version 4) identifier.
    public static func random() -> Self { Self(UUID.random()) }

    /// Parses the canonical 36-character form, any case; nil for any other text.
    public init?(validating text: some StringProtocol) {
        guard let uuid = UUID(canonical: String(text)) else { return nil }
        self.uuid = uuid
    }

    /// The canonical 36-character form in lower case.
    public var description: String { uuid.canonicalText }
}

extension Identifier: JSONReadable {
    public init(_ json: JSONReader) throws(JSONFinding) { self.init(try UUID(json)) }
}

// Subjects of `Identifier`; without values.
/// What a `UserID` identifies.
public enum UserSubject: Sendable {}
/// What a `TurnID` identifies.
public enum TurnSubject: Sendable {}
/// What a `ConversationID` identifies.
public enum ConversationSubject: Sendable {}
/// What a `MessageID` identifies.
public enum MessageSubject: Sendable {}
/// What a `PersonaID` identifies.
public enum PersonaSubject: Sendable {}
/// What a `ReportID` identifies.
public enum ReportSubject: Sendable {}

/// A user of the coach; the `sub` of their token.
public typealias UserID = Identifier<UserSubject>
/// One user message and the answer to it.
public typealias TurnID = Identifier<TurnSubject>
/// A sequence of turns between a user and the coach.
public typealias ConversationID = Identifier<ConversationSubject>
/// One saved message, the user's or the coach's.
public typealias MessageID = Identifier<MessageSubject>
/// A coaching persona made by a creator.
public typealias PersonaID = Identifier<PersonaSubject>
/// A user's report of a persona or an answer.
public typealias ReportID = Identifier<ReportSubject>
