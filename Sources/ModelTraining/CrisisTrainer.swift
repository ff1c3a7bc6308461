import CoachCore

/// Trains the crisis model and predicts the risk of each row by models that have not seen its fold.
public struct CrisisTrainer {
    /// The rows that cross-validation leaves out together. Rows of a minimal pair are always left out together.
    public enum Folds: String, CaseIterable, Sendable {
        /// A sixth of the briefs (`TrainingRow.brief`). These folds decide the thresholds.
        case briefs
        /// A fifth of the voices.
        case voices
        /// A fifth of the cells of the grid.
        case cells
    }

    /// Maximum shares of false alarms, by grammar and model together, among plain rows without danger. The thresholds are set by them.
    private struct Limits {
        var ordinary: Double
        var hardNegative: Double

        /// The aim is 0.03 of hard negatives, but the grammar alone has more false alarms.
        static let card = Limits(ordinary: 0.003, hardNegative: 0.055)
        static let concern = Limits(ordinary: 0.01, hardNegative: 0.05)
        static let afterConcern = Limits(ordinary: 0.03, hardNegative: 0.10)
    }

    public let rows: [TrainingRow]
    /// The grammar's risk of each row.
    public let grammar: [RiskAssessment]
    private let trainer: ClassifierTrainer

    /// `assessor` is the server's.
    public init(rows: [TrainingRow], assessor: MessageAssessor, seed: UInt64) {
        self.rows = rows
        let analyses = rows.map { assessor.analyse($0.text) }
        grammar = analyses.map(\.risk)
        let examples = rows.indices.map { index in
            ClassifierTrainer.Example(
                forms: analyses[index].features, sources: [index], targets: CrisisTrainer.targets(of: rows[index]),
                weight: CrisisTrainer.weight(of: rows[index]))
        }
        let long = CrisisTrainer.longTexts(rows).map { sources in
            let danger = sources.first { rows[$0].label == .crisis } ?? sources[0]
            return ClassifierTrainer.Example(
                forms: assessor.analyse(sources.map { rows[$0].text }.joined(separator: "\n")).features, sources: sources,
                targets: CrisisTrainer.targets(of: rows[danger]), weight: CrisisTrainer.weight(of: rows[danger]))
        }
        trainer = ClassifierTrainer(
            outputNames: CrisisClassifier.outputNames, examples: examples + long, pooling: .highest, seed: seed)
    }

    /// Weights at which both limits on false alarms are reached together. Without them, recall at the limit on ordinary messages is half, because there are
    /// more hard negatives than ordinary messages. Rows that are not plain have half of the weight: with 0.1 and with 1 fewer of the left-out plain rows
    /// are found.
    private static func weight(of row: TrainingRow) -> Double {
        let known = row.isPlain ? 1 : 0.5
        guard row.label == .calm else { return known }
        return row.form == TrainingRow.ordinary ? 2 * known : 0.8 * known
    }

    /// The rows of long texts: of ordinary rows only, and of danger between two ordinary rows, so that length is no evidence.
    private static func longTexts(_ rows: [TrainingRow]) -> [[Int]] {
        var texts: [[Int]] = []
        for language in Set(rows.map(\.language)).sorted() {
            let ordinary = rows.indices.filter { rows[$0].language == language && rows[$0].form == TrainingRow.ordinary }
            for start in stride(from: 0, to: ordinary.count, by: 3) {
                texts.append(Array(ordinary[start..<min(start + 6, ordinary.count)]))
            }
            guard ordinary.count > 1 else { continue }
            let danger = rows.indices.filter { rows[$0].language == language && rows[$0].label == .crisis }
            for (number, index) in danger.enumerated() where number % 4 == 0 {
                texts.append([ordinary[number % (ordinary.count - 1)], index, ordinary[number % (ordinary.count - 1) + 1]])
            }
        }
        return texts
    }

    /// Whether a row is an example of each output; nil leaves it out. Distress is left out of the output that decides the card, because it is neither
    /// a crisis nor calm.
    private static func targets(of row: TrainingRow) -> [Bool?] {
        let labels = CrisisClassifier.Label.allCases.map { label -> Bool? in
            switch label {
            case .concern: row.label != .calm
            case .crisis: row.label == .distress ? nil : row.label == .crisis
            case .high: row.tier >= RiskTier.high.rawValue
            case .imminent: row.tier >= RiskTier.imminent.rawValue
            case .other: row.label == .crisis ? row.form == "third_person" : nil
            }
        }
        return labels + RiskCategory.allCases.map { row.label == .crisis ? row.category == $0 : row.label == .calm ? false : nil }
    }

    /// The fold of each row.
    private func folds(_ scheme: Folds) -> [String] {
        var ofPair: [String: String] = [:]
        let briefs = Set(rows.map(\.brief)).sorted()
        func key(_ row: TrainingRow) -> String {
            switch scheme {
            case .briefs: String((briefs.firstIndex(of: row.brief) ?? 0) % 6)
            case .voices: CrisisTrainer.fifth(row.voice)
            // Ordinary messages have no cells: leaving all of a language out would leave nothing to learn from.
            case .cells: CrisisTrainer.fifth(row.form == TrainingRow.ordinary ? row.voice : row.cell)
            }
        }
        return rows.map { row in
            guard let pair = row.pair.map({ "\(row.file) \($0)" }) else { return key(row) }
            let fold = ofPair[pair] ?? key(row)
            ofPair[pair] = fold
            return fold
        }
    }

    private static func fifth(_ text: String) -> String {
        var generator = SplitMix64(seed: text.utf8.reduce(0) { $0 &* 131 &+ UInt64($1) })
        return String(generator.next() % 5)
    }

    /// The model of all rows, and each row's risk by a model that had not seen its brief. These models also set the calibration and the thresholds.
    public func train() -> (model: LinearClassifier, risks: [RiskAssessment]) {
        let scores = trainer.outOfFold(folds(.briefs))
        let calibrated = calibrated(scores)
        let model = trainer.fit(Array(trainer.examples.indices))
        return (model.calibrated(by: calibrated), merged(scores, calibrated))
    }

    /// For each row the probability of a crisis by a model that has not seen its brief.
    public func crisisScores() -> [Float] {
        let scores = trainer.outOfFold(folds(.briefs))
        let index = CrisisClassifier.Label.crisis.index
        let output = calibrated(scores)[index]
        return scores.map { output.probability($0[index]) }
    }

    /// The risk of each row by the grammar and by calibrated scores together.
    private func merged(_ scores: [[Float]], _ outputs: [LinearClassifier.Output]) -> [RiskAssessment] {
        zip(grammar, scores).map { found, scores in
            found.merged(with: CrisisClassifier.assess(zip(outputs, scores).map { $0.probability($1) }, outputs: outputs))
        }
    }

    /// The risk of each row by the grammar and a model that has not seen the row's fold, with the thresholds of `train`.
    public func evaluate() -> [(folds: Folds, risks: [RiskAssessment])] {
        let briefs = trainer.outOfFold(folds(.briefs))
        let outputs = calibrated(briefs)
        return Folds.allCases.map { scheme in
            let scores = scheme == .briefs ? briefs : trainer.outOfFold(folds(scheme))
            return (scheme, merged(scores, outputs))
        }
    }

    private func calibrated(_ scores: [[Float]]) -> [LinearClassifier.Output] {
        CrisisClassifier.outputNames.enumerated().map { index, name in
            let (slope, offset) = ClassifierTrainer.platt(
                scores.map { $0[index] }, trainer.examples.prefix(scores.count).map { $0.targets[index] })
            var output = LinearClassifier.Output(
                name: name, scale: 1, bias: 0, slope: slope, offset: offset, threshold: 0.5, thresholdAfterConcern: 0.5)
            let probabilities = scores.map { output.probability($0[index]) }
            switch CrisisClassifier.Label(rawValue: name) {
            case .crisis:
                let counted = grammar.map { $0.tier >= .crisis }
                output.threshold = threshold(probabilities, .card, counted)
                output.thresholdAfterConcern = threshold(probabilities, .afterConcern, counted)
            case .concern: output.threshold = threshold(probabilities, .concern, rows.map { _ in false })
            // These outputs count only for messages with a card.
            case .high: output.threshold = balanced(probabilities) { $0.tier >= RiskTier.high.rawValue }
            case .imminent: output.threshold = balanced(probabilities) { $0.tier >= RiskTier.imminent.rawValue }
            case .other, nil: break
            }
            return output
        }
    }

    /// The lowest threshold at which plain rows without danger stay within the limits. `counted` says for each row whether it is a false alarm in any case.
    private func threshold(_ probabilities: [Float], _ limits: Limits, _ counted: [Bool]) -> Float {
        func bound(_ form: (String) -> Bool, _ share: Double) -> Float {
            let calm = rows.indices.filter { rows[$0].isPlain && rows[$0].label == .calm && form(rows[$0].form) }
            let open = calm.filter { !counted[$0] }.map { probabilities[$0] }.sorted(by: >)
            let allowed = Int(share * Double(calm.count)) - (calm.count - open.count)
            guard allowed >= 0 else { return 1 }
            return allowed < open.count ? open[allowed].nextUp : 0
        }
        return max(bound({ $0 == TrainingRow.ordinary }, limits.ordinary), bound({ $0 != TrainingRow.ordinary }, limits.hardNegative))
    }

    /// The threshold among crises at which the shares of positive and negative rows on their right sides add up to the most.
    private func balanced(_ probabilities: [Float], _ isPositive: (TrainingRow) -> Bool) -> Float {
        let crises = zip(rows, probabilities).filter { $0.0.label == .crisis }.map { (isPositive($0.0), $0.1) }.sorted { $0.1 > $1.1 }
        let positive = Double(max(crises.count { $0.0 }, 1))
        let negative = Double(max(crises.count { !$0.0 }, 1))
        var best = (gain: 0.0, threshold: Float(1))
        var gain = 0.0
        for (hit, probability) in crises {
            gain += hit ? 1 / positive : -1 / negative
            if gain > best.gain { best = (gain, probability) }
        }
        return best.threshold
    }
}
