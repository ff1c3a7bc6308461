import CoachCore
import JSON
import TokenRelay

/// A provider's wire format: how requests are written and responses are read. Each is one folder beside this file, and one line here.
public struct Dialect: Sendable {
    private static let formats: [any WireFormat.Type] = [
        OpenAIChat.self,
        OpenAICompatible.self,
        OpenAIResponses.self,
        AzureOpenAI.self,
        AnthropicMessages.self,
        Gemini.self,
        BedrockConverse.self,
    ]

    public static let all = formats.map { Dialect($0) }

    let format: any WireFormat.Type

    init(_ format: any WireFormat.Type) { self.format = format }

    /// The dialect of this name in `deploy/models.json`.
    package static func named(_ name: String) -> Dialect? { all.first { $0.name == name } }

    public var name: String { format.name }

    /// The dialect for a server that takes the place of the provider's own: one in OpenAI's may know less than OpenAI does.
    func ofServer(at baseURL: String) -> Dialect {
        self == Dialect(OpenAIChat.self) && !OpenAIChat.isOwn(baseURL) ? Dialect(OpenAICompatible.self) : self
    }
}

extension Dialect: Hashable {
    public static func == (a: Dialect, b: Dialect) -> Bool { a.format == b.format }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(format)) }
}

extension Dialect {
    /// The form of the prompts for a model.
    func promptForm(for choice: ModelChoice) -> PromptForm {
        PromptForm(dialect: self, hasCacheMarks: format.takesCacheMarks(choice.name.model, options: choice.options))
    }

    /// The call as it goes over the wire.
    /// - Parameter key: the provider's API key; nil: none is sent.
    func request(
        _ prompt: EncodedPrompt, to choice: ModelChoice, at provider: Provider, key: String?, keys: ProviderKeys, connectTimeout: Duration,
        now: Timestamp = .now
    ) -> TransferRequest {
        let own = Set(choice.parameters.map(\.key))
        let all = provider.parameters.filter { !own.contains($0.key) } + choice.parameters
        let omitted = Set(all.filter { $0.value == .null && format.omittable.contains($0.key) }.map(\.key))
        let parameters = all.filter { !omitted.contains($0.key) }
        let call = DialectCall(
            model: choice.name.model, maximumOutputTokens: min(prompt.maximumOutputTokens ?? .max, choice.maximumOutputTokens),
            temperature: choice.temperature, options: choice.options, settings: provider.settings { keys[$0] }, omitted: omitted)
        var body = JSONWriter.encode { json in
            json.object { json in
                format.write(call, to: &json)
                for parameter in parameters {
                    json.key(parameter.key)
                    parameter.value.write(to: &json)
                }
            }
        }
        // The prompt as the object's last members.
        body.removeLast()
        if body.count > 1 { body.append(UInt8(ascii: ",")) }
        body += prompt.members
        body.append(UInt8(ascii: "}"))
        let (path, query) = format.target(call)
        let headers = Self.headers + [TransferHeader("Accept", format.mediaType)] + format.headers + provider.headers(keys)
        var request = TransferRequest(
            url: provider.url(path, query, keys), headers: headers, body: body, connectTimeout: connectTimeout,
            authorityFile: provider.authorityFile, route: provider.route)
        guard !format.sign(&request, call, key: key, at: now), let key, format.isKey(key) else { return request }
        switch provider.keyHeader ?? format.keyHeader {
        case .bearer: request.headers.append(TransferHeader("Authorization", "Bearer \(key)"))
        case .field(let name): request.headers.append(TransferHeader(name, key))
        }
        return request
    }

    private static let headers = [TransferHeader("Content-Type", "application/json"), TransferHeader("User-Agent", "coach-gateway")]

    /// A reader for one answer of a model.
    package func makeReader(for model: String, options: [String: JSONValue] = [:]) -> any AnswerReader {
        format.makeReader(model: format.family(of: model, options: options))
    }

    /// What an error response says.
    func error(_ head: TransferHead, body: [UInt8]) -> ProviderError { format.error(head, body: body) }
}

/// The way in which a prompt is written, which many models share.
struct PromptForm: Hashable, Sendable {
    var dialect: Dialect
    var hasCacheMarks = false

    /// Writes the prompt for the requests of a call. The time grows with the prompt, so it is not called on the transfers' thread.
    func encode(_ prompt: Prompt) -> EncodedPrompt {
        let format = dialect.format
        return EncodedPrompt(
            members: hasCacheMarks ? format.encodeWithCacheMarks(prompt) : format.encode(prompt),
            maximumOutputTokens: prompt.maximumOutputTokens)
    }
}

/// A prompt in a dialect's form.
struct EncodedPrompt: Sendable {
    /// Members of the body's object, without its braces.
    var members: [UInt8]
    /// nil: no other limit than the model's.
    var maximumOutputTokens: Int?
}
