import CoachCore
import Foundation

/// Trains the outputs of a `LinearClassifier`, one logistic regression each.
struct ClassifierTrainer {
    struct Example {
        /// The forms of the message; the first is trained on, all are scored.
        var forms: [MessageFeatures]
        /// Indices of the rows whose text it has. It is trained on only while none of them is left out.
        var sources: [Int]
        /// One for each output; nil leaves the example out of that output's training.
        var targets: [Bool?]
    }

    let outputNames: [String]
    /// One for each row, then those that are only trained on.
    let examples: [Example]
    let seed: UInt64

    /// Cost of an error before it is balanced between the classes. A grid of 2, 8 and 30 moved no figure beyond its interval.
    private static let cost = 8.0

    /// Uncalibrated: probabilities are logistic functions of the scores.
    func fit(_ indices: [Int]) -> LinearClassifier {
        let buckets = indices.map { Array(Set(examples[$0].forms[0].buckets)).sorted().map(Int32.init) }
        var outputs: [LinearClassifier.Output] = []
        var columns: [[Int8]] = []
        for (output, name) in outputNames.enumerated() {
            let targets = indices.map { examples[$0].targets[output] }
            let counts = (positive: targets.count { $0 == true }, negative: targets.count { $0 == false })
            let total = Double(counts.positive + counts.negative)
            let rows = zip(buckets, targets).compactMap { buckets, target in
                target.map { isPositive in
                    let count = Double(isPositive ? counts.positive : counts.negative)
                    return LogisticRegression.Example(
                        buckets: buckets, cost: ClassifierTrainer.cost * total / (2 * count), isPositive: isPositive)
                }
            }
            let regression = LogisticRegression(rows, bucketCount: MessageFeatures.bucketCount, seed: seed &+ UInt64(output))
            let largest = regression.weights.reduce(Float.leastNormalMagnitude) { max($0, abs($1)) }
            columns.append(regression.weights.map { Int8(($0 / largest * 127).rounded()) })
            outputs.append(
                LinearClassifier.Output(
                    name: name, scale: largest / 127, bias: Float(regression.bias), slope: 1, offset: 0, threshold: 1,
                    thresholdAfterConcern: 1))
        }
        let weights = (0..<MessageFeatures.bucketCount).flatMap { bucket in columns.map { $0[bucket] } }
        return LinearClassifier(outputs: outputs, weights: weights)
    }

    /// The scores of each row from a model that was trained without the row's fold; `folds` has one element for each row.
    func outOfFold(_ folds: [String]) -> [[Float]] {
        var scores = [[Float]](repeating: [], count: folds.count)
        for fold in Set(folds).sorted() {
            let model = fit(examples.indices.filter { examples[$0].sources.allSatisfy { folds[$0] != fold } })
            for index in folds.indices where folds[index] == fold { scores[index] = Self.scores(examples[index].forms, model) }
        }
        return scores
    }

    static func scores(_ forms: [MessageFeatures], _ model: LinearClassifier) -> [Float] {
        forms.map(model.scores).reduce(nil) { (highest: [Float]?, form) in
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
