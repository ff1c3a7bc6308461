import CoachCore
import JSON

extension Prompt {
    /// The texts of system messages, which some dialects send in a member apart from the conversation.
    var systemTexts: [String] {
        messages.compactMap { $0.role == .system && !$0.isBlank ? $0.content : nil }
    }

    /// The conversation without system messages, as the strictest providers accept it.
    ///
    /// Consecutive messages of one role are one turn. Messages of the assistant at the beginning are left out: they come from a history that was cut, or from
    /// a client's greeting. Messages of white space alone are left out, too: Anthropic and Bedrock refuse a request for one such text.
    var turns: [(role: Role, texts: [String])] {
        var turns: [(role: Role, texts: [String])] = []
        for message in messages where message.role != .system && !message.isBlank {
            if turns.isEmpty, message.role == .assistant { continue }
            if let last = turns.indices.last, turns[last].role == message.role {
                turns[last].texts.append(message.content)
            } else {
                turns.append((message.role, [message.content]))
            }
        }
        return turns
    }
}

extension Prompt.Message {
    /// Whether it has nothing but white space, as an answer that broke off early may have.
    fileprivate var isBlank: Bool { content.unicodeScalars.allSatisfy(\.properties.isWhitespace) }
}

extension Prompt {
    /// The prompt with one system message at its beginning and one message for each of `turns`, because some models' chat templates accept nothing else.
    var withStrictRoles: Prompt {
        var prompt = self
        let system = systemTexts
        prompt.messages = system.isEmpty ? [] : [Message(role: .system, content: system.joined(separator: "\n\n"))]
        prompt.messages += turns.map { Message(role: $0.role, content: $0.texts.joined(separator: "\n\n")) }
        return prompt
    }
}

extension JSONWriter {
    /// Members without the braces of their object.
    static func members(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        Array(encode { json in json.object(body) }.dropFirst().dropLast())
    }

    /// `[{"role": …, "content": …}, …]`
    mutating func messages(_ messages: [Prompt.Message]) {
        array { json in
            for message in messages {
                json.object { json in
                    json.member("role", message.role.rawValue)
                    json.member("content", message.content)
                }
            }
        }
    }

    /// `[{"text": …}, …]`
    mutating func texts(_ texts: [String]) {
        array { json in
            for text in texts { json.object { $0.member("text", text) } }
        }
    }
}
