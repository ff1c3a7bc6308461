import CoachCore
import Foundation

/// Trains the domain heads and predicts the domain of each row by models that have not seen its file.
public struct DomainTrainer {
    public let rows: [DomainRow]
    private let trainer: ClassifierTrainer
    /// The scores of the routing terms, by row.
    private let terms: [DomainScores]
    private let folds: [String]

    /// The threshold is set so that this share of the routed messages is routed to the right domain.
    private static let minimumAccuracy = 0.85
    /// The threshold is set so that this share of the messages outside all domains is not routed.
    private static let minimumForeign = 0.92

    /// `assessor` is the server's. `own` are an operator's examples. If there are any, only they are evaluated, in five folds; else the product's rows are.
    public init(rows product: [DomainRow], own: [DomainRow] = [], assessor: MessageAssessor, seed: UInt64) {
        let all = product + own
        rows = all
        let analyses = all.map { assessor.analyse($0.text) }
        terms = analyses.map(\.domains)
        folds =
            own.isEmpty
            ? product.map { TrainingRow.brief(ofFile: $0.file) } : product.map { _ in "" } + own.indices.map { "own \($0 % 5)" }
        let names = DomainClassifier.outputNames
        let examples = all.indices.map { index -> ClassifierTrainer.Example in
            let label = all[index].domain?.rawValue ?? DomainClassifier.none
            return ClassifierTrainer.Example(
                forms: Array(analyses[index].features.prefix(1)), sources: [index], targets: names.map { $0 == label })
        }
        trainer = ClassifierTrainer(outputNames: names, examples: examples, pooling: .mean, seed: seed)
    }

    /// The model of all rows, and the figures of the models that had not seen the row's fold, which also set the temperature and the threshold.
    public func train() -> (model: LinearClassifier, evaluation: DomainEvaluation) {
        let scores = trainer.outOfFold(folds)
        let evaluated = rows.indices.filter { !scores[$0].isEmpty }
        var outputs = DomainTrainer.uncalibrated
        func decisions() -> [DomainDecision] {
            evaluated.map { index in
                DomainRouter.decide(DomainClassifier.scores(scores[index], outputs: outputs, terms: terms[index]))
            }
        }
        outputs = calibrated(evaluated.map { (target: target($0), scores: scores[$0], terms: terms[$0]) })
        let rows = evaluated.map { self.rows[$0] }
        let threshold = DomainTrainer.threshold(rows, decisions())
        outputs = outputs.map { $0.threshold(threshold) }
        let trained = trainer.fit(Array(trainer.examples.indices))
        return (trained.calibrated(by: outputs), DomainEvaluation(rows, decisions()))
    }

    /// The scores of a message's first assessment: those of a calibrated linear model that has not seen the message's fold, and those of the terms.
    public struct FirstScores {
        /// In the order of `DomainClassifier.outputNames`.
        public var linear: [Float]
        /// In the order of `DomainClassifier.outputNames`.
        public var terms: [Float]
    }

    /// The first scores of each message, by its text.
    public func firstScores() -> [String: FirstScores] {
        let scores = trainer.outOfFold(folds)
        let evaluated = rows.indices.filter { !scores[$0].isEmpty }
        let slope = calibrated(evaluated.map { (target: target($0), scores: scores[$0], terms: terms[$0]) }).first?.slope ?? 1
        let pairs = evaluated.map { index in
            (rows[index].text, FirstScores(linear: scores[index].map { $0 * slope }, terms: terms[index].all))
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private func target(_ index: Int) -> Int {
        rows[index].domain.flatMap { Domain.allCases.firstIndex(of: $0) } ?? Domain.allCases.count
    }

    private static let uncalibrated = DomainClassifier.outputNames.map { name in
        LinearClassifier.Output(name: name, scale: 1, bias: 0, slope: 1, offset: 0, threshold: 0, thresholdAfterConcern: 0)
    }

    /// Outputs with one slope for all: the slope of a geometric grid at which the softmax is most likely.
    private func calibrated(_ points: [(target: Int, scores: [Float], terms: DomainScores)]) -> [LinearClassifier.Output] {
        func likelihood(_ slope: Float) -> Float {
            points.reduce(0) { sum, point in
                let logits = zip(point.scores, point.terms.all).map { $0 * slope + DomainClassifier.termWeight * $1 }
                let highest = logits.max() ?? 0
                return sum + logits[point.target] - highest - log(logits.reduce(0) { $0 + exp($1 - highest) })
            }
        }
        let slopes = (0..<40).map { 0.2 * pow(1.1, Float($0)) }
        let best = slopes.max { likelihood($0) < likelihood($1) } ?? 1
        return DomainTrainer.uncalibrated.map { output in
            var output = output
            output.slope = best
            return output
        }
    }

    /// The lowest probability that satisfies `minimumAccuracy` and `minimumForeign`, by the plain rows if there are any.
    private static func threshold(_ rows: [DomainRow], _ decisions: [DomainDecision]) -> Float {
        let plain = zip(rows, decisions).filter(\.0.isPlain)
        let routed = (plain.isEmpty ? Array(zip(rows, decisions)) : plain).filter { $0.1.domain != nil }.sorted {
            $0.1.confidence > $1.1.confidence
        }
        var right = 0.0
        var threshold = 1.0
        for (count, pair) in routed.enumerated() {
            if pair.0.domain == pair.1.domain { right += 1 }
            if right >= minimumAccuracy * Double(count + 1) { threshold = pair.1.confidence }
        }
        let foreign = plain.filter { $0.0.domain == nil }
        let routedForeign = foreign.filter { $0.1.domain != nil }.map(\.1.confidence).sorted(by: >)
        let allowed = Int((1 - minimumForeign) * Double(foreign.count))
        return max(Float(threshold), routedForeign.count > allowed ? Float(routedForeign[allowed]).nextUp : 0)
    }
}

extension LinearClassifier.Output {
    fileprivate func threshold(_ value: Float) -> Self {
        var output = self
        output.threshold = value
        return output
    }
}
