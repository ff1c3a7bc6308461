import ArgumentParser
import CoachCore
import Foundation
import ModelTraining

/// `train`: writes the crisis model. The same rows and seed give the same file.
struct TrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "train", abstract: "Train the crisis model from domains/safety/rows and domains/rows; write domains/safety/model.bin.")

    @OptionGroup var options: TrainingOptions

    @Flag(name: .long, help: "Write thresholds that no message reaches: the server loads the model, and the grammar decides alone.")
    var inactive = false

    func run() throws {
        let (root, files) = try options.load()
        let trained = files.trainer(seed: options.seed).train()
        let model = inactive ? trained.replacing(trained.outputs.map(\.inactive)) : trained
        try model.file.write(to: root.appendingPathComponent(TrainingFiles.model), options: .atomic)
        Console.say("\(TrainingFiles.model): trained on \(files.rows.count) rows")
    }
}

/// `evaluate`: the figures of crisis detection on rows that the model has not seen. Prints counts, never a row.
struct EvaluateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Cross-validate crisis detection; print a table; fail when a figure is below domains/safety/floors.json.")

    @OptionGroup var options: TrainingOptions

    func run() throws {
        let (root, files) = try options.load()
        let trainer = files.trainer(seed: options.seed)
        let outputs = trainer.train().outputs
        var columns = [("grammar alone", CrisisEvaluation(trainer.rows, trainer.grammar))]
        for folds in CrisisTrainer.Folds.allCases {
            let risks = zip(trainer.grammar, trainer.outOfFold(folds, outputs: outputs)).map { $0.merged(with: $1) }
            columns.append(("left-out \(folds.rawValue)", CrisisEvaluation(trainer.rows, risks)))
        }
        Console.say("| stratum | rows | \(columns.map(\.0).joined(separator: " | ")) |\n" + CrisisEvaluation.table(columns.map(\.1)))
        let floors = try EvaluationFloors(json: Data(contentsOf: root.appendingPathComponent("domains/safety/floors.json")))
        let findings = floors.findings(columns.dropFirst().map { ($0.0, $0.1) })
        guard findings.isEmpty else {
            Console.error(findings.joined(separator: "\n"))
            throw ExitCode.failure
        }
    }
}

/// Options of the commands that read training rows.
struct TrainingOptions: ParsableArguments {
    @Option(name: .long, help: "Seed of the order in which rows are visited.")
    var seed: UInt64 = 1

    /// The folder of the product and its rows, or an exit with every finding.
    func load() throws -> (root: URL, files: TrainingFiles) {
        guard let root = DataFolders.find(ProcessInfo.processInfo.environment[SettingKey.root.name]) else {
            throw ValidationError("the folder with domains/ was not found: set \(SettingKey.root.name)")
        }
        let (files, findings) = try TrainingFiles.load(root: root)
        guard let files else {
            Console.error(findings.map { "- \($0)" }.joined(separator: "\n"))
            throw ExitCode.failure
        }
        return (root, files)
    }
}
