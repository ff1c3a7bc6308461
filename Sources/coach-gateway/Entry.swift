/// Where the process begins.
@main
enum Entry {
    static func main() async {
        // Servers run their tasks on NIO's event loops, so that a request and its connection share a thread (thread hops dominate the
        // cost of a token). Installed before the first task is made; short-lived commands do without.
        if let command = CommandLine.arguments.dropFirst().first, ["serve", "pass-through"].contains(command) {
            EventLoopExecutor.install()
        }
        await CoachGateway.main(nil)
    }
}
