import Foundation

/// Port to a user's consents. `CoachStore` implements it on PostgreSQL. Closures throw `StoreFault`.
public struct ConsentRepository: Sendable {
    /// The latest decision of each kind that the user has decided about.
    public var current: @Sendable (Caller) async throws -> [ConsentRecord]
    /// Records a decision. Earlier ones are kept. Throws `Rejection` `tooManyItems` at 1,000 decisions, except for a withdrawal.
    public var record: @Sendable (Caller, ConsentKind, _ version: String, _ granted: Bool) async throws -> Void

    public init(
        current: @escaping @Sendable (Caller) async throws -> [ConsentRecord],
        record: @escaping @Sendable (Caller, ConsentKind, _ version: String, _ granted: Bool) async throws -> Void
    ) {
        self.current = current
        self.record = record
    }
}

/// What a user decides about. Raw values are those of the database enum `consent_kind`.
public enum ConsentKind: String, Sendable, CaseIterable {
    /// Messages go to a model provider.
    case aiProcessing = "ai_processing"
    /// Profile, summaries and earlier conversations enter prompts.
    case memory
    /// The user knows that the coach is no therapist.
    case disclaimer
}

/// A decision.
public struct ConsentRecord: Sendable, Equatable {
    public var kind: ConsentKind
    /// The version of the text that the user saw.
    public var version: String
    public var isGranted: Bool
    public var decidedAt: Date

    public init(kind: ConsentKind, version: String, isGranted: Bool, decidedAt: Date) {
        self.kind = kind
        self.version = version
        self.isGranted = isGranted
        self.decidedAt = decidedAt
    }
}

/// The consents that chat needs (`COACH_REQUIRE_CONSENT`).
public struct RequiredConsents: Sendable, Equatable {
    public let kinds: Set<ConsentKind>

    public init(_ kinds: Set<ConsentKind> = []) { self.kinds = kinds }

    /// The kinds without which a turn is rejected. Without `memory` the turn runs, without what the coach remembers (CONTRACT §5).
    public var beforeTurn: Set<ConsentKind> { kinds.subtracting([.memory]) }

    /// Whether earlier conversations and the profile may be used: not when the user refused, or consent is required and missing.
    public func allowsMemory(_ decisions: [ConsentRecord]) -> Bool {
        decisions.first { $0.kind == .memory }?.isGranted ?? !kinds.contains(.memory)
    }
}
