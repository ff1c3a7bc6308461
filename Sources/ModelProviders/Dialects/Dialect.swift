import CoachCore
import TokenRelay

/// A provider's wire format: how requests are written and responses are read. Adding one is a case here and two types beside `OpenAI…`.
public enum Dialect: String, Sendable, CaseIterable {
    /// OpenAI Chat Completions, which many other servers implement.
    case openAI = "openai"
}

extension Dialect {
    /// The prompt in this dialect, to be put into the requests of a call. Takes time that grows with the prompt: not for the transfers' thread.
    func encode(_ prompt: Prompt) -> EncodedPrompt {
        switch self {
        case .openAI: EncodedPrompt(messages: OpenAIRequest.messages(prompt), maximumOutputTokens: prompt.maximumOutputTokens)
        }
    }

    /// The call as it goes over the wire.
    func request(
        _ prompt: EncodedPrompt, to choice: ModelChoice, at provider: Provider, keys: ProviderKeys, connectTimeout: Duration
    ) -> TransferRequest {
        switch self {
        case .openAI:
            TransferRequest(
                url: provider.url(OpenAIRequest.path, keys), headers: OpenAIRequest.headers + provider.headers(keys),
                body: OpenAIRequest.body(messages: prompt.messages, maximumOutputTokens: prompt.maximumOutputTokens, choice),
                connectTimeout: connectTimeout, authorityFile: provider.authorityFile, route: provider.route)
        }
    }

    /// A reader for one answer.
    package func makeReader() -> any AnswerReader {
        switch self {
        case .openAI: OpenAIAnswerReader()
        }
    }

    /// The provider's own code in the body of an error response.
    func errorCode(in body: [UInt8]) -> String? {
        switch self {
        case .openAI: OpenAIError.code(inBody: body)
        }
    }
}

/// A machine that makes text, usage and an end out of the bytes of one answer, however they are cut. Pure.
package protocol AnswerReader {
    /// Reads the next bytes; after a verdict, nothing. What it learns is added to `update`, whose buffer the caller uses again.
    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate)
    /// The stream ended; gives a verdict unless one was given.
    mutating func finish(into update: inout ParsedUpdate)
}

/// The content of some bytes of a response, in this order: the text, the usage, the verdict.
package struct ParsedUpdate: Equatable {
    /// What an answer's stream ended in.
    package enum Verdict: Equatable {
        /// As the provider's dialect ends it.
        case ended(ModelEnd)
        /// It broke; the detail is fit for the log.
        case broken(ModelFault.Kind, detail: String)
    }

    /// Whole characters of valid UTF-8 without U+0000.
    package var text: [UInt8] = []
    /// The latest; replaces earlier ones.
    package var usage: TokenUsage?
    package var verdict: Verdict?

    /// Empty.
    package init() {}

    /// Empties it; the buffer is kept.
    package mutating func clear() {
        text.removeAll(keepingCapacity: true)
        if usage != nil { usage = nil }
        if verdict != nil { verdict = nil }
    }
}

/// A prompt in a dialect's words.
struct EncodedPrompt: Sendable {
    var messages: [UInt8]
    var maximumOutputTokens: Int
}
