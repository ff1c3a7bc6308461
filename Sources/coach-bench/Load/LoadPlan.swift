import Glibc

/// What a run does.
struct LoadPlan {
    var target: sockaddr_in
    /// One for each user; stream `i` begins with number `i` and goes on by the number of streams.
    var requests: [[UInt8]]
    var streams: Int
    /// Nanoseconds over which the streams begin.
    var ramp: UInt64
    /// Nanoseconds after the ramp that are not measured.
    var warmUp: UInt64
    /// Nanoseconds that are measured, in which an answer that ends is followed by the next; 0: each stream has `answers`.
    var duration: UInt64
    var answers: Int
    /// Nanoseconds between two requests, whoever is free makes the next; 0: each stream makes its own, one after another.
    var interval: UInt64
    /// Share of answers (0...1) whose client leaves somewhere in the middle.
    var drop: Double
    /// Tokens that a whole answer has.
    var expectedTokens: Int
    /// Nanoseconds after which whatever still runs is given up.
    var patience: UInt64
}
