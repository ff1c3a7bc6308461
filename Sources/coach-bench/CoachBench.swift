import ArgumentParser

/// The provider and the load generator of `deploy/bench`. Each is one epoll thread and uses less CPU than the proxies between them.
@main
struct CoachBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coach-bench", abstract: "Provider and load generator of the benchmark. deploy/bench drives them.",
        subcommands: [ProviderCommand.self, LoadCommand.self])
}
