import CoachCore

/// Trains the crisis model and predicts the risk of each row by models that have not seen its fold.
public struct CrisisTrainer {
    /// What cross-validation leaves out at once. Rows of a minimal pair are left out together.
    public enum Folds: String, CaseIterable, Sendable {
        /// A sixth of the files: each was written from briefs of its own. This decides the thresholds.
        case briefs
        /// A fifth of the voices.
        case voices
        /// A fifth of the cells of the grid.
        case cells
    }

    /// Maximum shares of false alarms among plain rows without danger, by grammar and model together, at which the thresholds are set.
    private struct Limits {
        var ordinary: Double
        var hardNegative: Double

        /// The grammar alone is beyond 0.03 of hard negatives, the aim.
        static let card = Limits(ordinary: 0.003, hardNegative: 0.055)
        static let concern = Limits(ordinary: 0.01, hardNegative: 0.05)
        static let afterConcern = Limits(ordinary: 0.03, hardNegative: 0.10)
    }

    public let rows: [TrainingRow]
    /// What the grammar finds in each row.
    public let grammar: [RiskAssessment]
    private let trainer: ClassifierTrainer

    /// `assessor` is the one of the server.
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

    /// Weights at which both limits on false alarms are reached together. Without them hard negatives, of which there are more than ordinary
    /// messages, cost half of the recall at the limit on ordinary ones. Oblique rows say less about how people write: at 0.1 and at 1 less
    /// is found of left-out plain rows.
    private static func weight(of row: TrainingRow) -> Double {
        let known = row.isPlain ? 1 : 0.5
        guard row.label == .calm else { return known }
        return row.form == TrainingRow.ordinary ? 2 * known : 0.8 * known
    }

    /// Ordinary rows joined to long texts, and danger between ordinary rows, so that length itself is no evidence.
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

    /// Distress lies between crisis and calm and would blur the output that decides the card.
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

    /// The model of all rows, with probabilities and thresholds from models that had not seen the row's brief, and the risks by those.
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

    /// The grammar's risk with that of scores.
    private func merged(_ scores: [[Float]], _ outputs: [LinearClassifier.Output]) -> [RiskAssessment] {
        zip(grammar, scores).map { found, scores in
            found.merged(with: CrisisClassifier.assess(zip(outputs, scores).map { $0.probability($1) }, outputs: outputs))
        }
    }

    /// The risks by grammar and models that have not seen the row's fold, with the thresholds of `train`.
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
            // Each decides only among messages that reach the card: the threshold of the best balance between its classes.
            case .high: output.threshold = balanced(probabilities) { $0.tier >= RiskTier.high.rawValue }
            case .imminent: output.threshold = balanced(probabilities) { $0.tier >= RiskTier.imminent.rawValue }
            case .other, nil: break
            }
            return output
        }
    }

    /// The lowest threshold at which plain rows without danger stay within the limits; `counted` are those with a card in any case.
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
