import JSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The body of `POST /functions/v1/chat-stream`.
public struct ChatRequest: Sendable, Equatable {
    /// The longest message, in Unicode scalars.
    public static let messageLimit = 8000

    /// The user's message: 1–8,000 Unicode scalars, not only white space.
    public var message: String
    /// The conversation to continue; nil creates one.
    public var conversationID: UUID?
    /// The requested persona; nil keeps that of the conversation.
    public var personaID: UUID?
    /// The token of the share link that gives access to a persona.
    public var shareToken: String?
    /// The domain to use instead of the router's choice.
    public var domain: String?
    /// Makes a repeated request return the first turn instead of a second one.
    public var clientMessageID: IdempotencyKey?
    /// A BCP 47 language tag, as the client sent it.
    public var locale: String?
    /// ISO 3166-1 alpha-2, upper case.
    public var country: String?

    /// Creates a request. Only the message is required.
    public init(
        message: String, conversationID: UUID? = nil, personaID: UUID? = nil, shareToken: String? = nil, domain: String? = nil,
        clientMessageID: IdempotencyKey? = nil, locale: String? = nil, country: String? = nil
    ) {
        self.message = message
        self.conversationID = conversationID
        self.personaID = personaID
        self.shareToken = shareToken
        self.domain = domain
        self.clientMessageID = clientMessageID
        self.locale = locale
        self.country = country
    }

    /// Parses a JSON body with snake_case or camelCase names.
    ///
    /// Drops an invalid locale or country instead of rejecting the request: they only select resources, and a message must not fail
    /// because of them.
    public static func parse(_ bytes: [UInt8]) throws(JSONFindings) -> ChatRequest {
        try body.value(of: bytes)
    }

    /// The body of a new turn.
    public static let body = JSONBody("ChatRequest", descriptions: descriptions, examples: examples) {
        (body) throws(JSONFinding) in try ChatRequest(body, isPreview: false)
    }

    /// The body of a preview, which is a conversation of its own with the persona of the path.
    public static let preview = JSONBody("PreviewRequest", descriptions: descriptions, examples: examples) {
        (body) throws(JSONFinding) in try ChatRequest(body, isPreview: true)
    }

    private static let descriptions = ["locale": "BCP 47", "country": "ISO 3166-1 alpha-2"]
    private static let examples: [String: JSONValue] = [
        "message": "I keep putting things off.", "domain": "mindset", "locale": "en-GB", "country": "GB",
    ]

    /// - Parameter isPreview: its conversation and persona are not the body's.
    private init(_ body: JSONReader, isPreview: Bool) throws(JSONFinding) {
        self.init(
            message: try body.required("message", .text(1...Self.messageLimit)),
            conversationID: try isPreview ? nil : body.optional("conversation_id"),
            personaID: try isPreview ? nil : body.optional("persona_id"),
            shareToken: try isPreview ? nil : body.optional("share_token", .text(0...256)),
            domain: try body.optional("domain", .text(0...64)),
            clientMessageID: try body.optional("client_message_id"),
            locale: try body.optional("locale", as: String.self).flatMap { $0.utf8.count <= 64 ? $0 : nil },
            country: try body.optional("country", as: String.self).flatMap(Self.alpha2))
    }

    /// The request as JSON with snake_case names, without absent fields.
    public func encode() -> [UInt8] {
        JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("message", message)
                if let conversationID { writer.member("conversation_id", conversationID) }
                if let personaID { writer.member("persona_id", personaID) }
                if let shareToken { writer.member("share_token", shareToken) }
                if let domain { writer.member("domain", domain) }
                if let clientMessageID { writer.member("client_message_id", clientMessageID.text) }
                if let locale { writer.member("locale", locale) }
                if let country { writer.member("country", country) }
            }
        }
    }

    private static func alpha2(_ text: String) -> String? {
        // Before upper case, in which "ß" is SS.
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        return text.utf8.count == 2 && text.utf8.allSatisfy { letters.contains($0 | 0x20) } ? text.uppercased() : nil
    }
}
