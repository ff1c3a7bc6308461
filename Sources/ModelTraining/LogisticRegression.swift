import Foundation

/// L2-regularised logistic regression on sparse rows, by coordinate descent on the dual (Yu, Huang and Lin, "Dual coordinate descent
/// methods for logistic regression and maximum entropy models", 2011). Deterministic for a seed.
struct LogisticRegression {
    /// The rows that are trained on. Each feature has the value of its bucket, over the root of the number of features.
    struct Example {
        var buckets: [UInt16]
        /// The cost of this row's error.
        var cost: Double
        var isPositive: Bool
    }

    private(set) var weights: [Float]
    private(set) var bias: Double = 0
    /// The squared value of each bucket's feature. The weights are multiplied by the values, so that a score only adds them.
    private let squares: [Float]

    private static let newtonSteps = 30

    /// More passes change no figure of the evaluation.
    static let passes = 12

    /// `squares` has one element for each bucket.
    init(_ examples: [Example], squares: [Float], seed: UInt64, passes: Int = passes) {
        self.squares = squares
        weights = Array(repeating: 0, count: squares.count)
        let lengths = examples.map { example in
            1 + Double(example.buckets.reduce(Float(0)) { $0 + squares[Int($1)] }) / Double(max(example.buckets.count, 1))
        }
        var duals = examples.map { $0.cost * 1e-3 }
        for (index, example) in examples.enumerated() { add(duals[index], of: example) }
        var generator = SplitMix64(seed: seed)
        var order = Array(examples.indices)
        for _ in 0..<passes {
            order.shuffle(using: &generator)
            for index in order where !examples[index].buckets.isEmpty {
                let example = examples[index]
                let margin = (example.isPositive ? 1 : -1) * score(example.buckets)
                let dual = LogisticRegression.solve(margin: margin, dual: duals[index], cost: example.cost, length: lengths[index])
                add(dual - duals[index], of: example)
                duals[index] = dual
            }
        }
    }

    func score(_ buckets: [UInt16]) -> Double {
        var sum: Float = 0
        for bucket in buckets { sum += weights[Int(bucket)] }
        return bias + Double(sum) / Double(max(buckets.count, 1)).squareRoot()
    }

    private mutating func add(_ step: Double, of example: Example) {
        let signed = example.isPositive ? step : -step
        bias += signed
        let each = Float(signed / Double(max(example.buckets.count, 1)).squareRoot())
        for bucket in example.buckets { weights[Int(bucket)] += each * squares[Int(bucket)] }
    }

    /// The dual of one example that minimises the dual objective: the root of `t + length (cost σ(t) - dual) + margin`, with
    /// `dual = cost σ(t)`. `length` is the squared length of a row with its bias.
    private static func solve(margin: Double, dual: Double, cost: Double, length: Double) -> Double {
        func logistic(_ t: Double) -> Double { 1 / (1 + exp(-t)) }
        // Newton's method within a bracket, because the slope of the function varies by orders of magnitude.
        var low = -40.0
        var high = 40.0
        var t = log(dual / (cost - dual))
        for _ in 0..<newtonSteps {
            let p = logistic(t)
            let value = t + length * (cost * p - dual) + margin
            if value > 0 { high = t } else { low = t }
            let next = t - value / (1 + length * cost * p * (1 - p))
            let bracketed = low < next && next < high ? next : (low + high) / 2
            if abs(bracketed - t) < 1e-6 { break }
            t = bracketed
        }
        let edge = 1e-9 * cost
        return min(max(cost * logistic(t), edge), cost - edge)
    }
}
