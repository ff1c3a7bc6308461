import ArgumentParser

/// The executable: one sub-command for each thing that people do with the product.
struct CoachGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coach-gateway",
        abstract: "A streaming gateway for coaching chat on PostgreSQL.",
        subcommands: [
            ServeCommand.self, MigrateCommand.self, SeedCommand.self, CheckCommand.self, TokenCommand.self, ChatCommand.self,
            AssessCommand.self, TrainCommand.self, EvaluateCommand.self, RepriceCommand.self, ImportPricesCommand.self,
            SimulateLLMCommand.self, VersionCommand.self, PassThroughCommand.self,
        ])
}
