import Foundation

/// The results of a load run. Histograms are in nanoseconds.
struct LoadFigures: ~Copyable {
    var begun = 0
    var complete = 0
    /// Responses with a status other than 200.
    var rejected = 0
    /// Answers that ended regularly with an unexpected number of tokens.
    var incomplete = 0
    /// Answers whose connection was lost, or that were incomplete at the time limit.
    var lost = 0
    /// Answers during which the client closed the connection, as planned.
    var dropped = 0
    /// Scheduled requests that were never sent because no client was free.
    var missed = 0
    var connections = 0
    var tokens = 0
    /// The body of the first rejected response.
    var firstRejection = ""
    /// The end of the first incomplete answer.
    var firstIncomplete = ""
    /// The reason of the first lost answer.
    var firstLoss = ""

    /// From the stamp in a token to its arrival.
    var added = Histogram()
    /// From the request to the first token.
    var firstToken = Histogram()
    /// From the request to the first byte of the answer.
    var begin = Histogram()
    /// Between two tokens of a stream.
    var gaps = Histogram()
    /// Between two reads of any bytes, including heartbeats.
    var silences = Histogram()

    var wallSeconds = 0.0
    var cpuSeconds = 0.0
    var windowSeconds = 0.0
    var windowCPUSeconds = 0.0
    var windowTokens = 0
    var windowComplete = 0

    /// The results as one line of JSON. Times are in microseconds (`_us`).
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
        put("rejected", rejected)
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
        put("first_rejection", firstRejection)
        put("first_incomplete", firstIncomplete)
        put("first_loss", firstLoss)
        return "{" + members.joined(separator: ",") + "}"
    }
}
