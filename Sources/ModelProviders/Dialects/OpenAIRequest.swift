import CoachCore
import JSON
import TokenRelay

/// The body of a streamed Chat Completions request.
enum OpenAIRequest {
    static let path = "/chat/completions"

    static let headers = [
        TransferHeader("Content-Type", "application/json"), TransferHeader("Accept", "text/event-stream"),
        TransferHeader("User-Agent", "coach-gateway"),
    ]

    /// The prompt's part of a body: the only one whose length grows with it.
    static func messages(_ prompt: Prompt) -> [UInt8] {
        JSONWriter.encode { json in
            json.array { json in
                for message in prompt.messages {
                    json.object { json in
                        json.member("role", message.role.rawValue)
                        json.member("content", message.content)
                    }
                }
            }
        }
    }

    /// - Parameter messages: as the function of that name gives them.
    static func body(messages: [UInt8], maximumOutputTokens: Int, _ choice: ModelChoice) -> [UInt8] {
        let rest = JSONWriter.encode { json in
            json.object { json in
                json.member("model", choice.name.model)
                json.member("stream", true)
                json.key(literal: "stream_options")
                json.object { $0.member("include_usage", true) }
                let tokens = min(maximumOutputTokens, choice.maximumOutputTokens)
                switch choice.tokenLimitField {
                case .maxCompletionTokens: json.member("max_completion_tokens", tokens)
                case .maxTokens: json.member("max_tokens", tokens)
                }
                if let temperature = choice.temperature { json.member("temperature", temperature) }
            }
        }
        // The messages as the object's last member.
        return rest.dropLast() + #","messages":"#.utf8 + messages + CollectionOfOne(UInt8(ascii: "}"))
    }
}
