import CoachCore
import Foundation

/// Trains the outputs of a `LinearClassifier`, one logistic regression each.
struct ClassifierTrainer: Sendable {
    struct Example: Sendable {
        /// The forms of the message; the first is trained on, all are scored.
        var forms: [MessageFeatures]
        /// The indices of the rows of its text. The example is left out of training with any of them.
        var sources: [Int]
        /// One for each output; nil leaves the example out of that output's training.
        var targets: [Bool?]
        /// Factor of the cost of an error.
        var weight = 1.0
    }

    private let outputNames: [String]
    /// One example for each row, then examples that are only trained on.
    let examples: [Example]
    private let pooling: LinearClassifier.Pooling
    private let seed: UInt64
    /// The sorted buckets of each window of each example's first form.
    private let windows: [[[UInt16]]]

    /// Cost of an error before it is balanced between the classes. A grid of 2, 8 and 30 moved no figure beyond its interval.
    private static let cost = 8.0

    init(outputNames: [String], examples: [Example], pooling: LinearClassifier.Pooling, seed: UInt64) {
        self.outputNames = outputNames
        self.examples = examples
        self.pooling = pooling
        self.seed = seed
        windows = examples.map { example in example.forms[0].ends.indices.map { example.forms[0].window($0).sorted() } }
    }

    /// Uncalibrated: probabilities are logistic functions of the scores.
    func fit(_ indices: [Int]) -> LinearClassifier {
        let squares = squares(indices)
        let columns = concurrently(Array(outputNames.indices)) { output in
            let regression = regression(output, indices, squares)
            let largest = regression.weights.reduce(Float.leastNormalMagnitude) { max($0, abs($1)) }
            return (weights: regression.weights.map { Int8(($0 / largest * 127).rounded()) }, scale: largest / 127, bias: regression.bias)
        }
        let outputs = zip(outputNames, columns).map { name, column in
            LinearClassifier.Output(
                name: name, scale: column.scale, bias: Float(column.bias), slope: 1, offset: 0, threshold: 1, thresholdAfterConcern: 1)
        }
        let weights = (0..<MessageFeatures.bucketCount).flatMap { bucket in columns.map { $0.weights[bucket] } }
        return LinearClassifier(outputs: outputs, weights: weights)
    }

    /// Squared inverse document frequencies of the buckets, with mean 1 over all features, so that rare features count more.
    private func squares(_ indices: [Int]) -> [Float] {
        var counts = [Float](repeating: 0, count: MessageFeatures.bucketCount)
        var windowCount: Float = 1
        for index in indices {
            for window in windows[index] {
                windowCount += 1
                for bucket in window { counts[Int(bucket)] += 1 }
            }
        }
        let squares = counts.map { count in pow(log(windowCount / (1 + count)), 2) }
        let mean = zip(squares, counts).reduce(Float(0)) { $0 + $1.0 * $1.1 } / max(counts.reduce(0, +), 1)
        return mean > 0 ? squares.map { $0 / mean } : counts.map { _ in 1 }
    }

    /// Learns from windows, because windows are scored. Where the highest window decides, a positive example has danger in one of them only:
    /// a first model chooses it, and the second learns from that one (Andrews et al., "Support vector machines for multiple-instance
    /// learning", 2002).
    private func regression(_ output: Int, _ indices: [Int], _ squares: [Float]) -> LogisticRegression {
        let known = indices.compactMap { index in examples[index].targets[output].map { (index: index, isPositive: $0) } }
        let positive = known.reduce(0) { $0 + ($1.isPositive ? examples[$1.index].weight : 0) }
        let negative = known.reduce(0) { $0 + ($1.isPositive ? 0 : examples[$1.index].weight) }
        func fit(passes: Int, _ chosen: (Int, Bool) -> [[UInt16]]) -> LogisticRegression {
            let rows = known.flatMap { index, isPositive in
                let windows = chosen(index, isPositive)
                let balance = (positive + negative) / (2 * (isPositive ? positive : negative))
                let share = isPositive || pooling == .mean ? 1 / Double(windows.count) : 1
                let cost = ClassifierTrainer.cost * examples[index].weight * balance * share
                return windows.map { LogisticRegression.Example(buckets: $0, cost: cost, isPositive: isPositive) }
            }
            return LogisticRegression(rows, squares: squares, seed: seed &+ UInt64(output), passes: passes)
        }
        guard pooling == .highest else { return fit(passes: LogisticRegression.passes) { index, _ in windows[index] } }
        let first = fit(passes: 4) { index, _ in windows[index] }
        return fit(passes: LogisticRegression.passes) { index, isPositive in
            isPositive ? windows[index].max { first.score($0) < first.score($1) }.map { [$0] } ?? [] : windows[index]
        }
    }

    /// The scores of each row from a model that was trained without the row's fold; `folds` has one element for each row. A fold of "" is
    /// never left out, and its rows have no scores.
    func outOfFold(_ folds: [String]) -> [[Float]] {
        var scores = [[Float]](repeating: [], count: folds.count)
        for fold in Set(folds).sorted() where !fold.isEmpty {
            let model = fit(examples.indices.filter { examples[$0].sources.allSatisfy { folds[$0] != fold } })
            for index in folds.indices where folds[index] == fold { scores[index] = self.scores(examples[index].forms, model) }
        }
        return scores
    }

    private func scores(_ forms: [MessageFeatures], _ model: LinearClassifier) -> [Float] {
        forms.map { model.scores($0, pooling) }.reduce(nil) { (highest: [Float]?, form) in
            highest.map { zip($0, form).map { max($0, $1) } } ?? form
        } ?? []
    }

    /// Platt scaling: slope and offset of a logistic function from scores to probabilities, by Newton's method.
    static func platt(_ scores: [Float], _ targets: [Bool?]) -> (slope: Float, offset: Float) {
        let points = zip(scores, targets).compactMap { score, target in target.map { (x: Double(score), y: $0 ? 1.0 : 0.0) } }
        var slope = 1.0
        var offset = 0.0
        for _ in 0..<30 {
            var gradient = (slope: 0.0, offset: 0.0)
            var hessian = (slope: 1e-6, both: 0.0, offset: 1e-6)
            for point in points {
                let p = 1 / (1 + exp(-(slope * point.x + offset)))
                gradient.slope += (p - point.y) * point.x
                gradient.offset += p - point.y
                let weight = p * (1 - p)
                hessian.slope += weight * point.x * point.x
                hessian.both += weight * point.x
                hessian.offset += weight
            }
            let determinant = hessian.slope * hessian.offset - hessian.both * hessian.both
            slope -= (hessian.offset * gradient.slope - hessian.both * gradient.offset) / determinant
            offset -= (hessian.slope * gradient.offset - hessian.both * gradient.slope) / determinant
        }
        return (Float(slope), Float(offset))
    }
}
