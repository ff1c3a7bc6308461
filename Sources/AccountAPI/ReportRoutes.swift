import CoachCore
import Foundation
import GatewayAPI
import HTTPEdge
import JSON

/// `POST /api/v1/reports`: a user reports a persona, or an answer that they got.
public struct ReportRoutes: Feature {
    private let reports: ReportRepository

    public init(reports: ReportRepository) { self.reports = reports }

    public func register(on routes: RouteTable) {
        routes.authenticated("Account").create(
            "/api/v1/reports", "Report a persona or an answer", body: Draft.body
        ) { draft, id, context in
            let report = Report(id: ReportID(id), subject: draft.subject, reason: draft.reason, comment: draft.comment)
            try await reports.create(context.caller, report)
            return ReportResource(report)
        }
    }

    /// The body of a report.
    private struct Draft: Sendable {
        var subject: Report.Subject
        var reason: Report.Reason
        var comment: String?

        static let body = JSONBody(
            "ReportDraft", descriptions: ["persona_id": "this or `message_id`, not both", "message_id": "an answer of the user's own"],
            examples: ["message_id": .null], Draft.init)

        private init(_ body: JSONReader) throws(JSONFinding) {
            let persona: PersonaID? = try body.optional("persona_id")
            let message: MessageID? = try body.optional("message_id")
            reason = try body.required("reason", .choice)
            comment = try body.optional("comment", .text(0...2000))
            switch (persona, message) {
            case (let persona?, nil): subject = .persona(persona)
            case (nil, let message?): subject = .answer(message)
            case (nil, nil), (_?, _?):
                subject = .answer(.random())
                try body.report("persona_id", .invalid("or message_id is required, not both"))
            }
        }
    }
}

extension ReportResource {
    init(_ report: Report) {
        var (persona, message): (UUID?, UUID?) = (nil, nil)
        switch report.subject {
        case .persona(let id): persona = id.uuid
        case .answer(let id): message = id.uuid
        }
        self.init(id: report.id.uuid, personaID: persona, messageID: message, reason: report.reason.rawValue, comment: report.comment)
    }
}
