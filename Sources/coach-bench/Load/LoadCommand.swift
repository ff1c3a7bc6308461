import ArgumentParser

/// `load`: many clients that note when each token arrives.
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Open streams, read time-stamped tokens, print one line of JSON.",
        discussion: """
            With --seconds each stream is followed by the next until the time is over; without, each has --answers of them. What is \
            measured begins when the ramp and the warm-up are over and ends with --seconds, or when the first stream has had all its \
            answers. Counts of answers and tokens are of the whole run.
            """)

    enum Kind: String, ExpressibleByArgument { case openai, gateway }

    @Option(help: "What is asked: an OpenAI-like server, or the gateway.") var kind = Kind.openai
    @Option(help: "Address to connect to.") var host = "127.0.0.1"
    @Option(help: "Port to connect to.") var port: UInt16
    @Option(help: "Path; by default that of the kind.") var path: String?
    @Option(help: "Secret of the users' tokens, for the gateway; or the key, for others.") var secret = "bench"
    @Option(help: "Streams at the same time.") var streams = 1000
    @Option(help: "Users; by default one for each stream.") var users: Int?
    @Option(help: "Number of the first user.") var firstUser = 0
    @Option(help: "Answers of each stream, without --seconds.") var answers = 1
    @Option(help: "Seconds to measure.") var seconds = 0.0
    @Option(help: "Seconds over which streams begin.") var ramp = 4.0
    @Option(help: "Seconds after the ramp that are not measured.") var warmUp = 1.0
    @Option(help: "Tokens that a whole answer has.") var expectTokens = 400
    @Option(help: "Gaps between tokens above this many milliseconds are counted.") var gapLimit = 0
    @Option(help: "Silences above this many milliseconds are counted.") var silenceLimit = 0
    @Option(help: "Requests a second, however fast the answers are; 0: each stream makes its own, one after another.") var rate = 0.0
    @Option(help: "Share of answers that their client leaves in the middle.") var drop = 0.0
    @Flag(help: "Each user goes on with his conversation of the benchmark's own data.") var conversations = false
    @Flag(help: "Users in a mixed order (the same each time).") var shuffle = false
    @Option(help: "Seconds after which whatever still runs is lost.") var patience = 120.0

    func validate() throws {
        guard streams >= 1, streams <= 60_000, (users ?? 1) >= 1, ramp >= 0, warmUp >= 0, seconds >= 0, patience > 0, answers >= 1,
            rate >= 0,
            rate == 0 || seconds > 0, (0...1).contains(drop)
        else {
            throw ValidationError("out of range")
        }
    }

    func run() throws {
        let limit = Socket.raiseFileLimit()
        guard limit > streams + 16 else { throw ValidationError("only \(limit) files may be open at once") }
        let authority = "\(host):\(port)"
        var requests: [[UInt8]] =
            switch kind {
            case .openai: [Requests.openAI(host: authority, path: path ?? "/v1/chat/completions", key: secret)]
            case .gateway:
                (0..<(users ?? streams)).map {
                    Requests.gateway(
                        host: authority, path: path ?? "/functions/v1/chat-stream", user: firstUser + $0, secret: secret,
                        inConversation: conversations)
                }
            }
        if shuffle {
            var mixer = Mixer()
            requests.shuffle(using: &mixer)
        }
        func nanoseconds(_ seconds: Double) -> UInt64 { UInt64(seconds * 1e9) }
        let run = try LoadRun(
            LoadPlan(
                target: try Socket.address(host, port), requests: requests, streams: streams, ramp: nanoseconds(ramp),
                warmUp: nanoseconds(warmUp), duration: nanoseconds(seconds), answers: answers,
                interval: rate > 0 ? nanoseconds(1 / rate) : 0, drop: drop, expectedTokens: expectTokens,
                patience: nanoseconds(patience)))
        run.run()
        Console.say(run.figures.json(gapLimit: UInt64(gapLimit) * 1_000_000, silenceLimit: UInt64(silenceLimit) * 1_000_000))
    }
}

/// SplitMix64 from a fixed seed.
private struct Mixer: RandomNumberGenerator {
    private var state: UInt64 = 20

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
