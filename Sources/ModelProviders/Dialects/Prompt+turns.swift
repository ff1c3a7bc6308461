import CoachCore
import JSON

extension Prompt {
    /// What stands apart from the conversation in dialects that have a member of its own for it.
    var systemTexts: [String] {
        messages.compactMap { $0.role == .system && !$0.content.isEmpty ? $0.content : nil }
    }

    /// The conversation. Consecutive messages of one role are one turn, because some providers refuse two.
    var turns: [(role: Role, texts: [String])] {
        var turns: [(role: Role, texts: [String])] = []
        for message in messages where message.role != .system && !message.content.isEmpty {
            if let last = turns.indices.last, turns[last].role == message.role {
                turns[last].texts.append(message.content)
            } else {
                turns.append((message.role, [message.content]))
            }
        }
        return turns
    }
}

extension Prompt {
    /// The same with one system message, at its beginning.
    var withOneSystemMessage: Prompt {
        let system = systemTexts
        guard !system.isEmpty else { return self }
        var prompt = self
        prompt.messages = [Message(role: .system, content: system.joined(separator: "\n\n"))] + messages.filter { $0.role != .system }
        return prompt
    }
}

extension JSONWriter {
    /// Members without the braces of their object.
    static func members(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        Array(encode { json in json.object(body) }.dropFirst().dropLast())
    }

    /// `[{"text": …}, …]`
    mutating func texts(_ texts: [String]) {
        array { json in
            for text in texts { json.object { $0.member("text", text) } }
        }
    }
}
