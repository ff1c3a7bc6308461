import JSON

/// Parses and validates the body of `POST /v1/chat/completions` with OpenAI's rules and error texts.
enum OpenAIRequest {
    /// - Parameter deployment: names the model in place of the body, as Azure's address does.
    static func parse(_ bytes: [UInt8], deployment: String? = nil) throws(OpenAIFault) -> (request: ChatRequest, json: JSONValue) {
        guard let json = try? JSONDocument(parsing: bytes).value, let members = json.members else {
            throw .invalid(
                "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. "
                    + "The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
        }
        let model = if let deployment { deployment } else { try model(json["model"]) }
        if let unknown = Set(members.map(\.key)).subtracting(parameters).min() {
            throw .invalid("Unrecognized request argument supplied: \(unknown)", code: "unknown_parameter")
        }
        var request = ChatRequest(model: model, turns: try turns(json["messages"]))
        request.isStreamed = try flag(json["stream"], "stream")
        request.includesUsage = try includesUsage(json["stream_options"], isStreamed: request.isStreamed)
        request.maxTokens = try limit(json["max_tokens"], "max_tokens")
        if let limit = try limit(json["max_completion_tokens"], "max_completion_tokens") { request.maxTokens = limit }
        request.stops = try stops(json["stop"])
        try check(json["temperature"], "temperature", 0...2)
        try check(json["top_p"], "top_p", 0...1)
        try check(json["presence_penalty"], "presence_penalty", -2...2)
        try check(json["frequency_penalty"], "frequency_penalty", -2...2)
        if let n = json["n"], n != .null, n != 1 {
            throw .invalid("Invalid 'n': this simulator gives one choice.", param: "n", code: "unsupported_value")
        }
        return (request, json)
    }

    private static func model(_ value: JSONValue?) throws(OpenAIFault) -> String {
        switch value {
        case nil, .null, .string(""): throw .invalid("you must provide a model parameter")
        case .string(let model): return model
        case .some(let other): throw wrongType("model", expected: "a string", got: other)
        }
    }

    private static let roles: Set<String> = ["system", "assistant", "user", "function", "tool", "developer"]

    /// The request fields of the API reference (platform.openai.com/docs/api-reference/chat/create). Fields that the simulator does not use
    /// are accepted and ignored.
    private static let parameters: Set<String> = [
        "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens",
        "messages", "metadata", "modalities", "model", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key",
        "prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
        "stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
        "web_search_options",
    ]

    private static func turns(_ value: JSONValue?) throws(OpenAIFault) -> [ChatRequest.Turn] {
        guard let value, value != .null else {
            throw .invalid("Missing required parameter: 'messages'.", param: "messages", code: "missing_required_parameter")
        }
        guard let messages = value.elements else { throw wrongType("messages", expected: "an array of objects", got: value) }
        guard !messages.isEmpty else {
            throw .invalid(
                "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
                param: "messages", code: "empty_array")
        }
        var turns: [ChatRequest.Turn] = []
        for (index, message) in messages.enumerated() { turns.append(try turn(message, at: "messages[\(index)]")) }
        return turns
    }

    private static func turn(_ message: JSONValue, at place: String) throws(OpenAIFault) -> ChatRequest.Turn {
        guard message.members != nil else { throw wrongType(place, expected: "an object", got: message) }
        guard let role = message["role"]?.string else {
            throw .invalid("Missing required parameter: '\(place).role'.", param: "\(place).role", code: "missing_required_parameter")
        }
        guard roles.contains(role) else {
            throw .invalid(
                "Invalid value: '\(role)'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
                param: "\(place).role", code: "invalid_value")
        }
        switch message["content"] {
        case .string(let text): return .init(role: role, text: text)
        case .array(let parts):
            return .init(role: role, text: parts.compactMap { $0["text"]?.string ?? $0["refusal"]?.string }.joined(separator: "\n"))
        case .null, nil:
            guard role == "assistant" else {
                throw .invalid(
                    "Invalid value for 'content': expected a string, got null.", param: "\(place).content", code: "invalid_type")
            }
            return .init(role: role, text: "")
        case .some(let other): throw wrongType("\(place).content", expected: "one of a string or array of objects", got: other)
        }
    }

    private static func flag(_ value: JSONValue?, _ name: String) throws(OpenAIFault) -> Bool {
        switch value {
        case nil, .null: return false
        case .bool(let flag): return flag
        case .some(let other): throw wrongType(name, expected: "a boolean", got: other)
        }
    }

    private static func includesUsage(_ options: JSONValue?, isStreamed: Bool) throws(OpenAIFault) -> Bool {
        guard let options, options != .null else { return false }
        guard isStreamed else {
            throw .invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.", param: "stream_options")
        }
        guard let members = options.members else { throw wrongType("stream_options", expected: "an object", got: options) }
        if let unknown = Set(members.map(\.key)).subtracting(["include_usage", "include_obfuscation"]).min() {
            throw .invalid(
                "Unknown parameter: 'stream_options.\(unknown)'.", param: "stream_options.\(unknown)", code: "unknown_parameter")
        }
        return try flag(options["include_usage"], "stream_options.include_usage")
    }

    private static func limit(_ value: JSONValue?, _ name: String) throws(OpenAIFault) -> Int? {
        switch value {
        case nil, .null: return nil
        case .integer(let limit) where limit >= 1: return Int(limit)
        case .integer(let limit):
            throw .invalid(
                "Invalid '\(name)': integer below minimum value. Expected a value >= 1, but got \(limit) instead.", param: name,
                code: "integer_below_min_value")
        case .some(let other): throw wrongType(name, expected: "an integer", got: other)
        }
    }

    private static func stops(_ value: JSONValue?) throws(OpenAIFault) -> [String] {
        switch value {
        case nil, .null: return []
        case .string(let stop): return [stop]
        case .array(let items):
            let stops = items.compactMap(\.string)
            guard stops.count == items.count else { throw wrongType("stop", expected: "an array of strings", got: .array(items)) }
            guard stops.count <= 4 else {
                throw .invalid(
                    "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length "
                        + "\(stops.count) instead.", param: "stop", code: "array_above_max_length")
            }
            return stops
        case .some(let other): throw wrongType("stop", expected: "a string or an array of strings", got: other)
        }
    }

    private static func check(_ value: JSONValue?, _ name: String, _ range: ClosedRange<Double>) throws(OpenAIFault) {
        guard let value, value != .null else { return }
        guard let number = value.number else { throw wrongType(name, expected: "a decimal", got: value) }
        guard !range.contains(number) else { return }
        let (side, sign, bound) =
            number < range.lowerBound ? ("below minimum", ">=", range.lowerBound) : ("above maximum", "<=", range.upperBound)
        throw .invalid(
            "Invalid '\(name)': decimal \(side) value. Expected a value \(sign) \(Int(bound)), but got \(number) instead.", param: name,
            code: "decimal_\(side == "below minimum" ? "below_min" : "above_max")_value")
    }

    private static func wrongType(_ name: String, expected: String, got value: JSONValue) -> OpenAIFault {
        .invalid(
            "Invalid type for '\(name)': expected \(expected), but got \(value.openAIKind) instead.", param: name, code: "invalid_type")
    }
}
