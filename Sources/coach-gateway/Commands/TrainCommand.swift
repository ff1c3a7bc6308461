import ArgumentParser
import CoachCore
import Foundation
import ModelTraining

/// `train`: writes a model. The same rows and seed give the same file.
struct TrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "train",
        abstract: "Train the crisis model from domains/safety/rows and domains/rows; write domains/safety/model.bin.")

    @OptionGroup var options: TrainingOptions

    @Flag(name: .long, help: "Write thresholds that no message reaches: the server loads the crisis model, and the grammar decides alone.")
    var inactive = false

    @Option(
        name: .long, help: "Train instead domains/routing.bin, with the examples of this file (as in domains/rows) besides the product's.")
    var domains: String?

    func run() throws {
        let (root, files) = try options.load()
        if let domains { return try write(files.domainTrainer(own: own(domains), seed: options.seed), root) }
        let (trained, evaluation) = files.trainer(seed: options.seed).train()
        let model = inactive ? trained.replacing(trained.outputs.map(\.inactive)) : trained
        try model.file.write(to: root.appendingPathComponent(TrainingFiles.model), options: .atomic)
        Console.say("\(TrainingFiles.model): trained on \(files.rows.count) rows\n\(CrisisEvaluation.table([evaluation]))")
    }

    private func own(_ file: String) throws -> [DomainRow] {
        let (rows, findings) = DomainRow.parse([file: try String(contentsOfFile: file, encoding: .utf8)])
        guard findings.isEmpty else {
            Console.error(findings.map { "- \($0)" }.joined(separator: "\n"))
            throw ExitCode.failure
        }
        return rows
    }

    private func write(_ trainer: DomainTrainer, _ root: URL) throws {
        let (model, evaluation) = trainer.train()
        try model.file.write(to: root.appendingPathComponent(TrainingFiles.domainModel), options: .atomic)
        Console.say("\(TrainingFiles.domainModel): trained on \(trainer.rows.count) rows\n\(evaluation.table)")
    }
}

/// `evaluate`: the figures of crisis detection and routing on rows that the models have not seen. Prints counts, never a row.
struct EvaluateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Cross-validate crisis detection and routing; print tables; fail when a figure is outside domains/safety/floors.json.")

    @OptionGroup var options: TrainingOptions

    @Option(name: .long, help: "Count instead the cards on messages of another source (JSON Lines with text, label, source).")
    var crossCheck: String?

    func run() throws {
        let (root, files) = try options.load()
        if let crossCheck { return try count(crossCheck, root, files) }
        let trainer = files.trainer(seed: options.seed)
        var columns = [("grammar alone", CrisisEvaluation(trainer.rows, trainer.grammar))]
        columns += trainer.evaluate().map { ($0.folds.rawValue, $0.evaluation) }
        Console.say(
            "| stratum | rows | \(columns.map(\.0).joined(separator: " | ")) |\n" + CrisisEvaluation.table(columns.map(\.1)))
        let routing = files.domainTrainer(seed: options.seed).train().evaluation
        Console.say(routing.table)
        let floors = try EvaluationFloors(json: Data(contentsOf: root.appendingPathComponent("domains/safety/floors.json")))
        var shares = Dictionary(uniqueKeysWithValues: columns.map { ($0.0, $0.1.cards.mapValues(\.share)) })
        shares["routing"] = routing.shares.mapValues(\.share).merging(["macro-F1": routing.macroF1]) { share, _ in share }
        let findings = floors.findings(shares)
        guard findings.isEmpty else {
            Console.error(findings.joined(separator: "\n"))
            throw ExitCode.failure
        }
    }
}

extension EvaluateCommand {
    private func count(_ file: String, _ root: URL, _ files: TrainingFiles) throws {
        let (parts, findings, _) = CoachingFiles(root: root).load()
        guard let parts else { throw ValidationError(findings.joined(separator: "\n")) }
        let trained = parts.assessor(parts.domains)
        Console.say(
            CrossCheck.table(
                try String(contentsOfFile: file, encoding: .utf8),
                [("grammar alone", { files.assessor.assess($0).risk }), ("with the model", { trained.assess($0).risk })]))
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
