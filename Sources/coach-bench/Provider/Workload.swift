/// The parameters of the provider's answers.
struct Workload {
    /// Tokens per second; 0: as fast as the socket accepts them.
    var pace = 20.0
    var tokens = 400
    /// Milliseconds from the request to the first token.
    var firstToken = 0
    /// Tokens per write.
    var pack = 1
    /// Shares (0...1) of answers that are cut after a random token, and of requests that are rejected with 503.
    var cut = 0.0
    var rejected = 0.0

    /// Nanoseconds between two writes.
    var period: UInt64 { pace > 0 ? UInt64(1_000_000_000 * Double(pack) / pace) : 0 }

    /// Changes the parameters that a query such as `pace=20&tokens=400` names. Returns false when the query is invalid.
    mutating func apply(query: Substring) -> Bool {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=")
            guard parts.count == 2, let value = Double(parts[1]), value >= 0, value < 1e7 else { return false }
            switch parts[0] {
            case "pace": pace = value
            case "tokens": tokens = max(1, Int(value))
            case "first_ms": firstToken = Int(value)
            case "cut": cut = value
            case "rejected": rejected = value
            case "pack": pack = min(max(1, Int(value)), AnswerBytes.maximumPack)
            default: return false
            }
        }
        return true
    }
}
