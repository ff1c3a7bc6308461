import JSON

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
        var json = JSONWriter()
        json.beginObject()
        json.member("begun", begun)
        json.member("complete", complete)
        json.member("rejected", rejected)
        json.member("incomplete", incomplete)
        json.member("lost", lost)
        json.member("dropped", dropped)
        json.member("missed", missed)
        json.member("connections", connections)
        json.member("tokens", tokens)
        json.member("wall_s", thousandths: wallSeconds)
        json.member("load_cpu_s", thousandths: cpuSeconds)
        json.member("window_s", thousandths: windowSeconds)
        json.member("window_cpu_s", thousandths: windowCPUSeconds)
        json.member("window_tokens", windowTokens)
        json.member("tokens_per_s", thousandths: windowSeconds > 0 ? Double(windowTokens) / windowSeconds : 0)
        json.member("turns_per_s", thousandths: windowSeconds > 0 ? Double(windowComplete) / windowSeconds : 0)
        json.member("added_us", added)
        json.member("first_token_us", firstToken)
        json.member("begin_us", begin)
        json.member("gap_us", gaps)
        json.member("gaps_too_long", gapLimit > 0 ? gaps.count(above: gapLimit) : 0)
        json.member("silence_us", silences)
        json.member("silences_too_long", silenceLimit > 0 ? silences.count(above: silenceLimit) : 0)
        json.member("first_rejection", firstRejection)
        json.member("first_incomplete", firstIncomplete)
        json.member("first_loss", firstLoss)
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: StaticString, thousandths value: Double) {
        member(name, (value * 1000).rounded() / 1000)
    }

    /// Writes a histogram of nanoseconds in microseconds.
    fileprivate mutating func member(_ name: StaticString, _ histogram: borrowing Histogram) {
        key(literal: name)
        beginObject()
        member("count", histogram.total)
        for (point, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)] {
            key(point)
            number(Double(histogram.quantile(share) / 100) / 10)
        }
        endObject()
    }
}
