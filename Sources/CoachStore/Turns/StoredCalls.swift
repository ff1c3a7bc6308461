import CoachCore
import JSON

/// An element of the argument `calls` of `gateway.book_calls`.
extension BilledCall: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.field("call", number)
            if purpose != .answer { json.field("purpose", purpose.rawValue) }
            name?.writeFields(to: &json)
            json.field("bill", bill)
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            number: try json.required("call"), purpose: try json.optional("purpose", .choice) ?? .answer, name: try ModelName.stored(json),
            bill: try json.optional("bill"))
    }
}

/// An element of `gateway.running_turns.calls`.
extension UnusedCall: StoredWritable, JSONReadable {
    func write(to json: inout JSONWriter) {
        json.object { json in
            name.writeFields(to: &json)
            json.field("is_accepted", isAccepted)
            usage.writeFields(to: &json)
            if usage.isPartial { json.field("is_partial", true) }
            json.field("text_bytes", textBytes)
            if reasoningBytes > 0 { json.field("reasoning_bytes", reasoningBytes) }
        }
    }

    public init(_ json: JSONReader) throws(JSONFinding) {
        self.init(
            name: try ModelName(stored: json), isAccepted: try json.required("is_accepted"), usage: try TokenUsage(stored: json),
            textBytes: try json.required("text_bytes"), reasoningBytes: try json.optional("reasoning_bytes") ?? 0)
        usage.isPartial = try json.optional("is_partial") ?? false
    }
}

extension ModelName {
    /// The name as members of the enclosing object.
    func writeFields(to json: inout JSONWriter) {
        json.field("provider", provider)
        json.field("model", model)
    }

    init(stored json: JSONReader) throws(JSONFinding) {
        self.init(provider: try json.required("provider"), model: try json.required("model"))
    }

    /// The members `provider` and `model` of an object that may have neither.
    static func stored(_ json: JSONReader) throws(JSONFinding) -> ModelName? {
        guard let provider = try json.optional("provider", as: String.self), let model = try json.optional("model", as: String.self) else {
            return nil
        }
        return ModelName(provider: provider, model: model)
    }
}

extension TokenUsage {
    /// The classes of tokens as members of the enclosing object.
    func writeFields(to json: inout JSONWriter) {
        json.field("input", input)
        json.field("cached_input", cachedInput)
        json.field("cache_write", cacheWrite)
        json.field("output", output)
        json.field("reasoning", reasoning)
    }

    init(stored json: JSONReader) throws(JSONFinding) {
        self.init(
            input: try json.optional("input"), cachedInput: try json.optional("cached_input"),
            cacheWrite: try json.optional("cache_write"), output: try json.optional("output"),
            reasoning: try json.optional("reasoning"))
    }
}
