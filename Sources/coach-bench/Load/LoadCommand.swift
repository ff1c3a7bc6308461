import ArgumentParser

/// The command `load`: runs many clients that measure when each token arrives.
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Open streams, read time-stamped tokens, print one line of JSON.",
        discussion: """
            With --seconds each client requests answers until the time is over; without it, each requests --answers of them. The \
            measurement begins after the ramp and the warm-up and ends after --seconds, or when the first client has all its answers. \
            Counts of answers and tokens cover the whole run.
            """)

    enum Kind: String, ExpressibleByArgument { case openai, gateway }

    @Option(help: "The API of the server: openai or gateway.") var kind = Kind.openai
    @Option(help: "Address to connect to.") var host = "127.0.0.1"
    @Option(help: "Port to connect to.") var port: UInt16
    @Option(help: "Path; the default depends on the kind.") var path: String?
    @Option(help: "The secret of the users' tokens for the gateway; the API key for others.") var secret = "bench"
    @Option(help: "Concurrent streams.") var streams = 1000
    @Option(help: "Users; the default is one per stream.") var users: Int?
    @Option(help: "Number of the first user.") var firstUser = 0
    @Option(help: "Answers of each stream, without --seconds.") var answers = 1
    @Option(help: "Seconds to measure.") var seconds = 0.0
    @Option(help: "Seconds over which streams begin.") var ramp = 4.0
    @Option(help: "Seconds after the ramp that are not measured.") var warmUp = 1.0
    @Option(help: "Tokens of a complete answer.") var expectTokens = 400
    @Option(help: "Gaps between tokens above this many milliseconds are counted.") var gapLimit = 0
    @Option(help: "Times without any byte above this many milliseconds are counted.") var silenceLimit = 0
    @Option(help: "Requests per second on average, whatever the answers take; 0: each client sends the next after an answer.")
    var rate = 0.0
    @Option(help: "Share of answers (0...1) during which the client closes the connection.") var drop = 0.0
    @Flag(help: "Each user continues their conversation of the benchmark's data.") var conversations = false
    @Option(help: "Id of the persona that users of the gateway talk to.") var persona: String?
    @Flag(help: "Shuffle the users, in the same order in every run.") var shuffle = false
    @Option(help: "Seconds after which the run ends and incomplete answers count as lost.") var timeLimit = 120.0

    func validate() throws {
        guard (1...60_000).contains(streams), (users ?? 1) >= 1, ramp >= 0, warmUp >= 0, seconds >= 0, timeLimit > 0, answers >= 1,
            rate >= 0, rate == 0 || seconds > 0, (0...1).contains(drop)
        else { throw ValidationError("out of range") }
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
                        inConversation: conversations, persona: persona)
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
                timeLimit: nanoseconds(timeLimit)))
        run.run()
        Console.write(run.figures.json(gapLimit: UInt64(gapLimit) * 1_000_000, silenceLimit: UInt64(silenceLimit) * 1_000_000))
    }
}
