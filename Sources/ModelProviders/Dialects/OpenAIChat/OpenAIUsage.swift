import JSON

/// The usage of a Chat Completions answer. OpenAI counts cached tokens within the prompt's, and reasoning within the completion's. Compatible servers have
/// the cached ones in other members.
enum OpenAIUsage {
    static let inclusion = UsageTally.Inclusion(inputHasCache: true, outputHasReasoning: true)

    /// The object that the cursor stands before.
    static func read(_ json: inout JSONCursor) throws(JSONError) -> UsageTally {
        var usage = UsageTally()
        var total: Int?
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "prompt_tokens", "input_tokens": usage.input = try json.count()
            case "completion_tokens", "output_tokens": usage.output = try json.count()
            case "prompt_tokens_details", "input_tokens_details":
                guard try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    if key == "cached_tokens" { usage.cachedInput.raise(to: try json.count()) }
                    if key == "cache_write_tokens" { usage.cacheWrite = try json.count() }
                }
            case "completion_tokens_details", "output_tokens_details":
                guard try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    if key == "reasoning_tokens" { usage.reasoning = try json.count() }
                }
            case "total_tokens": total = try json.count()
            // DeepSeek and Mistral.
            case "prompt_cache_hit_tokens", "num_cached_tokens": usage.cachedInput.raise(to: try json.count())
            default: continue
            }
        }
        // xAI does not count reasoning within the completion; only the total shows this.
        if let input = usage.input, let output = usage.output, let reasoning = usage.reasoning, reasoning > 0,
            total == input + output + reasoning
        {
            usage.output = output + reasoning
        }
        return usage
    }
}
