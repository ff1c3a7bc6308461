import CoachCore
import GatewayAPI
import JSON

/// The body of `POST /v1/responses`.
struct ResponseRequest: Sendable {
    var model: String
    var conversation: ClientConversation
    var streams: Bool
    /// Answers at once, while the turn runs.
    var isBackground: Bool
    var echo: ResponseEcho

    /// The response whose conversation this one continues.
    var previous: ResponseID? { echo.previous }

    init(_ body: JSONReader) throws(JSONFinding) {
        model = try body.required("model", .text(1...200))
        let input = try body.member("input")
        if input == nil { try body.report("input", .missing) }
        if let text = input?.value.string {
            conversation = try ClientConversation([ClientMessage(user: text)], "input", of: body)
        } else {
            conversation = try ClientConversation(try body.required("input"), "input", of: body)
        }
        let instructions: String? = try body.optional("instructions")
        if let instructions { conversation.clientTexts.insert(instructions, at: 0) }
        streams = try body.optional("stream") ?? false
        isBackground = try body.optional("background") ?? false
        echo = ResponseEcho(
            previous: try body.optional("previous_response_id", .responseID), instructions: instructions, metadata: try body.metadata())
        if try body.value("conversation") != nil {
            try body.report("conversation", .invalid("is not supported: use previous_response_id"))
        }
        if try body.optional("store", as: Bool.self) == false {
            try body.report("store", .invalid("must not be false: responses are kept until they are deleted"))
        }
        try body.rejectUnsupported()
        try body.member("text")?.rejectFormat("format")
    }

    static let body = ForeignBody(
        Schema.object([
            .init("model", CoachModel.schema),
            .init("input", .any.described("a text, or an array of messages").exemplified("I keep putting things off.")),
            .optional("instructions", .text), .optional("previous_response_id", .text.exemplified(.null)), .optional("stream", .boolean),
            .optional("background", .boolean),
            .optional("metadata", .any.described("up to 16 texts by name, which the answer repeats")),
        ]).named("ResponseRequest"))
}

/// The members of a request that its answer repeats. They are not stored, so a response that is read later has none of them.
struct ResponseEcho: Sendable {
    /// Bytes of instructions: longer ones would be held for each stream, and sent in three of its events.
    private static let mostInstructions = 8 * 1024

    let previous: ResponseID?
    let instructions: String?
    let metadata: [JSONMember]

    init(previous: ResponseID? = nil, instructions: String? = nil, metadata: [JSONMember] = []) {
        self.previous = previous
        self.instructions = instructions.flatMap { $0.utf8.count <= Self.mostInstructions ? $0 : nil }
        self.metadata = metadata
    }
}

extension JSONReader {
    /// The client's texts for a response, within that protocol's limits.
    fileprivate func metadata() throws(JSONFinding) -> [JSONMember] {
        guard let metadata = try value("metadata") else { return [] }
        let members = metadata.members ?? []
        let isValid = members.allSatisfy { member in
            member.key.unicodeScalars.count <= 64 && member.value.string.map { $0.unicodeScalars.count <= 512 } == true
        }
        if metadata.members == nil || members.count > 16 || !isValid {
            try report("metadata", .invalid("must be an object of at most 16 texts of up to 512 characters, with names of up to 64"))
        }
        return members
    }
}

extension ClientMessage {
    fileprivate init(user text: String) {
        role = .user
        self.text = text
    }
}

/// The id of a response: `resp_` and the id of its turn, with `bg_` between them when it runs in the background. That is not stored, because it
/// makes no difference to the turn.
struct ResponseID: Sendable {
    let turn: TurnID
    let isBackground: Bool

    init(_ turn: TurnID, isBackground: Bool) {
        self.turn = turn
        self.isBackground = isBackground
    }

    init?(parsing text: some StringProtocol) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let rest = text.dropFirst(Self.prefix.count)
        isBackground = rest.hasPrefix(Self.background)
        guard let turn = TurnID(validating: isBackground ? rest.dropFirst(Self.background.count) : rest) else { return nil }
        self.turn = turn
    }

    var text: String { "\(Self.prefix)\(isBackground ? Self.background : "")\(turn)" }

    private static let prefix = "resp_"
    private static let background = "bg_"
}

extension JSONField<ResponseID> {
    fileprivate static var responseID: Self {
        .parsed("the id of a response", placeholder: ResponseID(TurnID.random(), isBackground: false)) { ResponseID(parsing: $0) }
    }
}
