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

    @Option(
        name: .long, help: "Train nothing: write the rows as domains/encoder/train.py reads them to this file.")
    var encoderExamples: String?

    @Option(name: .long, help: "Messages of other sources (JSON Lines with text, label, source) to write besides to --encoder-examples.")
    var others: String?

    func run() throws {
        // First, because the rest takes minutes.
        let own = try domains.map { try self.own($0) }
        let (root, files) = try options.load()
        if let encoderExamples { return try writeExamples(encoderExamples, root, files) }
        if let own { return try write(files.domainTrainer(own: own, seed: options.seed), root) }
        let trainer = files.trainer(seed: options.seed)
        let (trained, risks) = trainer.train()
        let model = inactive ? trained.calibrated(by: trained.outputs.map(\.inactive)) : trained
        try Data(model.file).write(to: root.appendingPathComponent(TrainingFiles.model), options: .atomic)
        let evaluations = [true, false].map { isPlain in CrisisEvaluation(trainer.rows, risks) { $0.isPlain == isPlain } }
        Console.writeLine(
            "\(TrainingFiles.model): trained on \(files.rows.count) rows\n| left-out briefs | plain rows | plain | oblique |\n"
                + CrisisEvaluation.table(evaluations))
    }

    private func writeExamples(_ file: String, _ root: URL, _ files: TrainingFiles) throws {
        let trainer = files.trainer(seed: options.seed)
        let examples = EncoderExamples(assessor: try CoachingFiles(root: root).assessor())
        let others = try others.map { examples.lines(ofOthers: try TrainingFiles.text(at: $0)) } ?? ""
        let lines = examples.lines(
            trainer.rows, domains: files.domainTrainer(seed: options.seed), grammar: trainer.grammar, scores: trainer.crisisScores())
        try Data((lines + others).utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    }

    private func own(_ file: String) throws -> [DomainRow] {
        let (rows, findings) = DomainRow.parse([file: try TrainingFiles.text(at: file)])
        guard findings.isEmpty else {
            Console.list(findings)
            throw ExitCode.failure
        }
        return rows
    }

    private func write(_ trainer: DomainTrainer, _ root: URL) throws {
        let (model, evaluation) = trainer.train()
        try Data(model.file).write(to: root.appendingPathComponent(TrainingFiles.domainModel), options: .atomic)
        Console.writeLine("\(TrainingFiles.domainModel): trained on \(trainer.rows.count) rows\n\(evaluation.table)")
    }
}

/// Options of the commands that read training rows.
struct TrainingOptions: ParsableArguments {
    @Option(name: .long, help: "Seed of the order in which rows are visited.")
    var seed: UInt64 = 1

    /// The folder of the product and its rows, or an exit with every finding.
    func load(heldOutOnly: Bool = false) throws -> (root: URL, files: TrainingFiles) {
        let root = try DataFolders.required()
        let (files, findings) = try TrainingFiles.load(root: root, heldOutOnly: heldOutOnly)
        guard let files else {
            Console.list(findings)
            throw ExitCode.failure
        }
        return (root, files)
    }
}
