/// What each answer is like.
struct Workload {
    /// Tokens a second; 0 is as fast as the socket takes them.
    var pace = 20.0
    var tokens = 400
    /// Milliseconds from the request to the first token.
    var firstToken = 0
    /// Tokens that go out in one write.
    var pack = 1
    /// Shares of answers (0...1) that are broken off somewhere, and that are refused with 503.
    var cut = 0.0
    var refused = 0.0

    /// Nanoseconds between two writes.
    var period: UInt64 { pace > 0 ? UInt64(1_000_000_000 * Double(pack) / pace) : 0 }

    /// Changes what a query (`pace=20&tokens=400`) names. False when it makes no sense.
    mutating func apply(query: Substring) -> Bool {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=")
            guard parts.count == 2, let value = Double(parts[1]), value >= 0, value < 1e7 else { return false }
            switch parts[0] {
            case "pace": pace = value
            case "tokens": tokens = max(1, Int(value))
            case "first_ms": firstToken = Int(value)
            case "cut": cut = value
            case "refused": refused = value
            case "pack": pack = min(max(1, Int(value)), AnswerBytes.largestPack)
            default: return false
            }
        }
        return true
    }
}
