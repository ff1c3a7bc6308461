import JSON

/// The usage of a Chat Completions answer. OpenAI counts cached tokens within the prompt's, and reasoning within the completion's. Compatible servers have
/// the cached ones in other members.
enum OpenAIUsage {
    static let inclusion = UsageTally.Inclusion(inputHasCache: true, outputHasReasoning: true)

    /// The object that the cursor stands before.
    static func read(_ json: inout JSONCursor) throws(JSONError) -> UsageTally {
        var usage = UsageTally()
        var total: Int?
        var (read, written) = (0, 0)
        try json.beginObject()
        while let key = try json.nextKey() {
            switch key {
            case "prompt_tokens", "input_tokens": usage.input = try json.count()
            case "completion_tokens", "output_tokens": usage.output = try json.count()
            case "prompt_tokens_details", "input_tokens_details":
                guard try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    if key == "cached_tokens" { usage.cachedInput.raise(to: try json.count()) }
                    // The second name is LiteLLM's.
                    if key == "cache_write_tokens" || key == "cache_creation_tokens" { usage.cacheWrite.raise(to: try json.count()) }
                }
            case "completion_tokens_details", "output_tokens_details":
                guard try json.entersObject() else { continue }
                while let key = try json.nextKey() {
                    if key == "reasoning_tokens" { usage.reasoning = try json.count() }
                }
            case "total_tokens": total = try json.count()
            // DeepSeek and Mistral.
            case "prompt_cache_hit_tokens", "num_cached_tokens": usage.cachedInput.raise(to: try json.count())
            // Of Claude. Portkey: within the total, and not within the prompt. LiteLLM: within both.
            case "cache_read_input_tokens": read = try json.count() ?? 0
            case "cache_creation_input_tokens": written = try json.count() ?? 0
            default: continue
            }
        }
        if let input = usage.input, let output = usage.output, read + written > 0 {
            if total == input + output + read + written {
                (usage.input, usage.cachedInput, usage.cacheWrite) = (input + read + written, read, written)
            } else if total == input + output, written > 0, written <= input {
                usage.cacheWrite.raise(to: written)
            }
        }
        // xAI does not count reasoning within the completion, and servers in front of Google's models do not report it either: only the total shows it. How
        // much of the rest is reasoning is known where it is reported; cached tokens are none.
        if let input = usage.input, input > 0, let output = usage.output, let total, total > input + output {
            let rest = total - input - output
            if usage.reasoning.map({ $0 == rest }) ?? (usage.cachedInput != rest) { usage.output = total - input }
        }
        return usage
    }
}
