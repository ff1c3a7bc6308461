import ArgumentParser

/// What `deploy/bench` measures with: a provider and a load generator, each one epoll thread, both cheaper than what stands between them.
@main
struct CoachBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coach-bench", abstract: "Provider and load generator of the benchmark. deploy/bench drives them.",
        subcommands: [ProviderCommand.self, LoadCommand.self])
}
