import ArgumentParser
import CoachStore
import Foundation

/// `seed`: example personas and a development user. May be run again.
struct SeedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "seed", abstract: "Put the example data of db/seed.sql into the database.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let file = configuration.root.appendingPathComponent("db/seed.sql")
        try await CommandDatabase.asOwner("seed", configuration) { try await Seeder(client: $0, file: file).seed() }
        Console.writeLine("seeded")
    }
}
