import Glibc

/// The parameters of a load run.
struct LoadPlan {
    var target: sockaddr_in
    /// The bytes of one request per user. Stream `i` starts with number `i` and advances by the number of streams.
    var requests: [[UInt8]]
    var streams: Int
    /// Nanoseconds over which the streams begin.
    var ramp: UInt64
    /// Nanoseconds after the ramp that are not measured.
    var warmUp: UInt64
    /// Nanoseconds that are measured, during which each stream repeats its requests; 0: each stream has `answers` of them.
    var duration: UInt64
    var answers: Int
    /// Nanoseconds between two requests on average, each sent by any free stream; 0: each stream sends its next request after an answer.
    var interval: UInt64
    /// Share of answers (0...1) during which the client closes the connection after a random token.
    var drop: Double
    /// Tokens of a complete answer.
    var expectedTokens: Int
    /// Nanoseconds after which the run ends and incomplete answers count as lost.
    var timeLimit: UInt64
}
