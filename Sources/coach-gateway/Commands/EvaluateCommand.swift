import ArgumentParser
import CoachCore
import Foundation
import ModelTraining

/// `evaluate`: the figures of crisis detection and routing on rows that the models have not seen. Prints counts, never a row.
struct EvaluateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract:
            "Measure crisis detection and routing on rows that they have not seen; "
            + "fail when a figure is outside domains/safety/floors.json.")

    @OptionGroup var options: TrainingOptions

    @Flag(name: .long, help: "Only measure the models of the product on the held-out rows, which takes seconds; train nothing.")
    var heldOut = false

    @Flag(name: .long, help: "Only measure the models of the product on the held-out rows among other text, which takes minutes.")
    var surrounded = false

    @Flag(name: .long, help: "Only measure the models of the product on the held-out rows with typing errors, which takes minutes.")
    var mistyped = false

    @Option(name: .long, help: "Count instead the cards on messages of another source (JSON Lines with text, label, source).")
    var crossCheck: String?

    private typealias Shares = [String: [String: Double]]

    func run() throws {
        let otherRows = try crossCheck.map { try TrainingFiles.text(at: $0) }
        let (root, files) = try options.load(heldOutOnly: heldOut || surrounded || mistyped)
        let shipped = try CoachingFiles(root: root).assessor()
        if let otherRows { return Console.writeLine(CrossCheck.table(otherRows, stages(files, shipped))) }
        let isWhole = !heldOut && !surrounded && !mistyped
        var shares: Shares = [:]
        func add(_ further: Shares) { shares.merge(further) { first, _ in first } }
        if heldOut || isWhole { add(measured(files, shipped)) }
        if surrounded || isWhole { add(measured(.surrounded, files, shipped)) }
        if mistyped || isWhole { add(measured(.mistyped, files, shipped)) }
        if isWhole {
            add(leftOut(files, shipped))
            add(crossValidated(files))
        }
        let floors = try EvaluationFloors(json: Array(Data(contentsOf: root.appendingPathComponent("domains/safety/floors.json"))))
        let outside = floors.findings(shares, columns: isWhole ? nil : Array(shares.keys))
        guard outside.isEmpty else {
            Console.error(outside.joined(separator: "\n"))
            throw ExitCode.failure
        }
    }

    /// The models of the product on the held-out rows.
    private func measured(_ files: TrainingFiles, _ shipped: MessageAssessor) -> Shares {
        let columns = columns(files.heldOut.danger, files, shipped)
        writeTable("held-out rows", columns)
        let decisions = files.heldOut.domains.map { DomainRouter.decide(shipped.assessFully($0.text).domains) }
        let routing = DomainEvaluation(files.heldOut.domains, decisions)
        Console.writeLine("Routing, held-out rows\n\(routing.table)")
        return ["held-out": columns[2].1.cards.mapValues(\.share), "routing, held-out": routing.allShares]
    }

    /// The models of the product on changed held-out rows.
    private func measured(_ change: MessageChange, _ files: TrainingFiles, _ shipped: MessageAssessor) -> Shares {
        let evaluation = ChangeEvaluation(files.heldOut.danger, change) { messages in
            concurrently(messages) { shipped.assessFully($0).risk.tier >= .crisis }
        }
        Console.writeLine(evaluation.table)
        return ["held-out, \(change)": evaluation.shares]
    }

    /// The briefs that the encoder was not trained on. The linear model, which chooses what is encoded, was.
    private func leftOut(_ files: TrainingFiles, _ shipped: MessageAssessor) -> Shares {
        let rows = files.rows.filter { $0.isPlain && EncoderExamples.isLeftOut($0) }
        let columns = columns(rows, files, shipped)
        writeTable("plain rows, left out of the encoder's", columns)
        return ["encoder, left out": columns[2].1.cards.mapValues(\.share)]
    }

    /// The detection by stages, each with all before it.
    private func stages(
        _ files: TrainingFiles, _ shipped: MessageAssessor
    ) -> [(name: String, assess: @Sendable (String) -> RiskAssessment)] {
        [
            ("grammar alone", { [assessor = files.assessor] in assessor.assess($0).risk }),
            ("with the linear model", { shipped.assess($0).risk }), ("with the encoders", { shipped.assessFully($0).risk }),
        ]
    }

    private func columns(
        _ rows: [TrainingRow], _ files: TrainingFiles, _ shipped: MessageAssessor
    ) -> [(String, CrisisEvaluation)] {
        stages(files, shipped).map { name, assess in (name, CrisisEvaluation(rows, concurrently(rows) { assess($0.text) })) }
    }

    /// Models that have not seen the row's fold, plain and oblique rows apart.
    private func crossValidated(_ files: TrainingFiles) -> Shares {
        let trainer = files.trainer(seed: options.seed)
        let risks = [("grammar alone", trainer.grammar)] + trainer.evaluate().map { ($0.folds.rawValue, $0.risks) }
        var shares: Shares = [:]
        for (kind, isPlain) in [("plain", true), ("oblique", false)] {
            let columns = risks.map { ("\($0), \(kind)", CrisisEvaluation(trainer.rows, $1) { $0.isPlain == isPlain }) }
            writeTable("\(kind) rows", columns)
            for (name, evaluation) in columns { shares[name] = evaluation.cards.mapValues(\.share) }
        }
        let routing = files.domainTrainer(seed: options.seed).train().evaluation
        Console.writeLine("Routing, left-out files\n\(routing.table)")
        shares["routing"] = routing.allShares
        return shares
    }

    private func writeTable(_ title: String, _ columns: [(String, CrisisEvaluation)]) {
        Console.writeLine("| \(title) | rows | \(columns.map(\.0).joined(separator: " | ")) |\n\(CrisisEvaluation.table(columns.map(\.1)))")
    }
}

extension DomainEvaluation {
    fileprivate var allShares: [String: Double] { shares.mapValues(\.share).merging(["macro-F1": macroF1]) { share, _ in share } }
}
