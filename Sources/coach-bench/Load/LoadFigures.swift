import Foundation

/// What a run has seen. Times in nanoseconds.
struct LoadFigures: ~Copyable {
    var begun = 0
    var complete = 0
    /// Answered with another status than 200.
    var refused = 0
    /// Ended in order, but with another number of tokens.
    var incomplete = 0
    /// Cut, or not over in time.
    var lost = 0
    /// Left by their client, as the plan wants it.
    var dropped = 0
    /// Requests for which nobody was free until the end.
    var missed = 0
    var connections = 0
    var tokens = 0
    /// Body of the first refusal, end of the first answer of another length, reason of the first loss.
    var refusal = ""
    var oddity = ""
    var loss = ""

    /// From the stamp in a token to its arrival.
    var added = Histogram()
    /// From the request to the first token.
    var firstToken = Histogram()
    /// From the request to the first byte of the answer.
    var begin = Histogram()
    /// Between two tokens of a stream.
    var gaps = Histogram()
    /// Between two arrivals of anything, heartbeats too.
    var silences = Histogram()

    var wallSeconds = 0.0
    var cpuSeconds = 0.0
    var windowSeconds = 0.0
    var windowCPUSeconds = 0.0
    var windowTokens = 0
    var windowComplete = 0

    /// One line. Times in microseconds.
    func json(gapLimit: UInt64, silenceLimit: UInt64) -> String {
        var members: [String] = []
        func put(_ name: String, _ value: Int) { members.append(#""\#(name)":\#(value)"#) }
        func put(_ name: String, _ value: Double) { members.append(#""\#(name)":\#((value * 1000).rounded() / 1000)"#) }
        func put(_ name: String, _ histogram: borrowing Histogram) {
            let points = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 1)].map { point, share in
                #""\#(point)":\#(Double(histogram.quantile(share) / 100) / 10)"#
            }
            members.append(#""\#(name)_us":{"count":\#(histogram.total),\#(points.joined(separator: ","))}"#)
        }
        func put(_ name: String, _ text: String) {
            let quoted = (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
            members.append(#""\#(name)":\#(quoted)"#)
        }
        put("begun", begun)
        put("complete", complete)
        put("refused", refused)
        put("incomplete", incomplete)
        put("lost", lost)
        put("dropped", dropped)
        put("missed", missed)
        put("connections", connections)
        put("tokens", tokens)
        put("wall_s", wallSeconds)
        put("load_cpu_s", cpuSeconds)
        put("window_s", windowSeconds)
        put("window_cpu_s", windowCPUSeconds)
        put("window_tokens", windowTokens)
        put("tokens_per_s", windowSeconds > 0 ? Double(windowTokens) / windowSeconds : 0)
        put("turns_per_s", windowSeconds > 0 ? Double(windowComplete) / windowSeconds : 0)
        put("added", added)
        put("first_token", firstToken)
        put("begin", begin)
        put("gap", gaps)
        put("gaps_too_long", gapLimit > 0 ? Int(gaps.count(above: gapLimit)) : 0)
        put("silence", silences)
        put("silences_too_long", silenceLimit > 0 ? Int(silences.count(above: silenceLimit)) : 0)
        put("refusal", refusal)
        put("oddity", oddity)
        put("loss", loss)
        return "{" + members.joined(separator: ",") + "}"
    }
}
