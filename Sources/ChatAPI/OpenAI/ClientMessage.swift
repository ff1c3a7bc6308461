import CoachCore
import GatewayAPI
import JSON

/// A message of a chat completion, or an input item of a response.
struct ClientMessage: JSONReadable {
    enum Role: String, CaseIterable {
        case system, developer, user, assistant
    }

    let role: Role
    let text: String

    /// A message with tools, an image or a sound is a finding, because the answer would ignore it.
    init(_ json: JSONReader) throws(JSONFinding) {
        role = try json.required("role", .choice)
        if let calls = try json.value("tool_calls"), calls.elements?.isEmpty != true {
            try json.report("tool_calls", .invalid(Self.noTools))
        }
        guard let content = try json.member("content") else {
            if role != .assistant { try json.report("content", .missing) }
            text = ""
            return
        }
        text = content.value.elements == nil ? try String(content) : try [Part](content).map(\.text).joined(separator: "\n")
    }

    static let noTools = "is not supported: the coach uses no tools"

    /// One part of a content.
    private struct Part: JSONReadable {
        let text: String

        init(_ json: JSONReader) throws(JSONFinding) {
            switch try json.required("type", as: String.self) {
            case "text", "input_text", "output_text": text = try json.required("text")
            case "refusal": text = ""
            default: text = try json.reject(.invalid("is not a text part, the only kind that is supported"), "")
            }
        }
    }
}

/// The conversation of a request: the newest message, the user's, and what comes with it.
struct ClientConversation: Sendable {
    var message: String
    /// Earlier messages, oldest first.
    var history: [HistoryMessage]
    /// Of roles `system` and `developer`.
    var clientTexts: [String]

    /// - Parameter name: the member with the messages, for findings.
    init(_ messages: [ClientMessage], _ name: String, of json: JSONReader) throws(JSONFinding) {
        clientTexts = messages.filter { $0.role == .system || $0.role == .developer }.map(\.text)
        var others = messages.filter { $0.role == .user || $0.role == .assistant }
        let newest = others.popLast()
        message = newest?.text ?? ""
        history = others.map { HistoryMessage(role: $0.role == .user ? .user : .assistant, content: $0.text) }
        if newest?.role != .user {
            try json.report(name, .invalid("must end with a message of role user"))
        } else if message.unicodeScalars.allSatisfy(\.properties.isWhitespace) {
            try json.report(name, .empty)
        } else if message.unicodeScalars.count > ChatRequest.messageLimit {
            try json.report(name, .tooLong(limit: ChatRequest.messageLimit))
        }
    }
}

extension JSONReader {
    /// Reports members that ask for what the coach does not do and whose absence would change the meaning of the answer. Sampling parameters and
    /// unknown members are ignored.
    func rejectUnsupported() throws(JSONFinding) {
        for name in ["tools", "functions"] {
            if let tools = try value(name), tools.elements?.isEmpty != true { try report(name, .invalid(ClientMessage.noTools)) }
        }
        for name in ["tool_choice", "function_call"] {
            if let choice = try value(name), !["none", "auto"].contains(choice.string) {
                try report(name, .invalid(ClientMessage.noTools))
            }
        }
        if let count = try value("n"), count.integer != 1 { try report("n", .invalid("must be 1")) }
        if let kinds = try value("modalities"), kinds != ["text"] { try report("modalities", .invalid("must be text alone")) }
        if try value("audio") != nil { try report("audio", .invalid("is not supported")) }
    }

    /// Reports an output format other than text.
    func rejectFormat(_ name: String) throws(JSONFinding) {
        if let format = try value(name), let type = format["type"], type.string != "text" {
            try report(name, .invalid("must be of type text"))
        }
    }
}
