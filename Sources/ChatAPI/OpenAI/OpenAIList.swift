import JSON

/// Encodes the `list` object of OpenAI's API.
enum OpenAIList {
    /// - Parameters:
    ///   - items: writes the elements of `data`.
    ///   - members: writes further members of the list.
    static func encode(
        items: (inout JSONWriter) -> Void, members: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        JSONWriter.encode { writer in
            writer.object { writer in
                writer.member("object", "list")
                writer.key(literal: "data")
                writer.array { items(&$0) }
                members(&writer)
            }
        }
    }
}
