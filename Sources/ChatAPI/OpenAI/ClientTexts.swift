import JSON

/// The user's texts in a body that was rejected, whatever is wrong with it: the error has crisis resources when they show danger.
struct ClientTexts: Equatable {
    /// The last text of each list of messages that the body has.
    var newest: String
    /// Oldest first.
    var earlier: [String]

    /// nil for a body that is no JSON object, and for one without any text of the user.
    init?(rejected body: [UInt8]) {
        guard let members = (try? JSONDocument(parsing: body).value)?.members else { return nil }
        // Also of a member that is given twice, or that this route ignores.
        let lists = members.filter { $0.key == "messages" || $0.key == "input" }.map { Self.messages($0.value) }.filter { !$0.isEmpty }
        guard !lists.isEmpty else { return nil }
        newest = lists.compactMap(\.last).joined(separator: "\n")
        earlier = lists.flatMap { $0.dropLast() }
    }

    /// One message, or several.
    private static func messages(_ value: JSONValue) -> [String] {
        guard let elements = value.elements else { return message(value).map { [$0] } ?? [] }
        return elements.compactMap(message)
    }

    /// A text, or an object with a content; nil for one of another role than the user's, and without a text.
    private static func message(_ value: JSONValue) -> String? {
        if let text = value.string { return text }
        guard let members = value.members else { return nil }
        let role = value["role"]?.string?.lowercased()
        guard role != "assistant", role != "system", role != "developer" else { return nil }
        let texts = members.filter { $0.key == "content" || $0.key == "text" }.flatMap { parts($0.value) }
        return texts.isEmpty ? nil : texts.joined(separator: "\n")
    }

    /// A text, an object with a text, or an array of either.
    private static func parts(_ content: JSONValue) -> [String] {
        if let text = content.string { return [text] }
        if let text = content["text"]?.string { return [text] }
        return (content.elements ?? []).compactMap { $0.string ?? $0["text"]?.string }
    }
}
