/// Port to users' reports. `CoachStore` implements it on PostgreSQL.
public struct ReportRepository: Sendable {
    /// Saves a report, or does nothing when the caller has one with this id. Throws `StoreFault`, and `Rejection` with `unknownPersona`
    /// when the persona is not open to the caller, with `notFound` when the message is not an answer to them.
    public var create: @Sendable (Caller, Report) async throws -> Void

    public init(create: @escaping @Sendable (Caller, Report) async throws -> Void) { self.create = create }
}

/// A report of a persona, or of an answer.
public struct Report: Sendable, Equatable {
    public enum Subject: Sendable, Equatable {
        case persona(PersonaID)
        case answer(MessageID)
    }

    /// Raw values are those of the database enum `report_reason`.
    public enum Reason: String, Sendable, CaseIterable {
        case harmful, inaccurate, offensive, privacy, impersonation, other
    }

    public var id: ReportID
    public var subject: Subject
    public var reason: Reason
    public var comment: String?

    public init(id: ReportID, subject: Subject, reason: Reason, comment: String?) {
        self.id = id
        self.subject = subject
        self.reason = reason
        self.comment = comment
    }
}
