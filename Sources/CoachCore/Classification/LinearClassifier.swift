import Foundation

/// Logistic classifiers that share features: one output per label, 8-bit weights.
public struct LinearClassifier: Sendable, Equatable {
    /// One label.
    public struct Output: Sendable, Equatable {
        public var name: String
        /// Multiplies the sum of the weights.
        public var scale: Float
        public var bias: Float
        /// Platt scaling of out-of-fold scores: the probability is the logistic function of `slope * score + offset`.
        public var slope: Float
        public var offset: Float
        /// Minimum probability for the label to count.
        public var threshold: Float
        /// The same for a user with a stored concern.
        public var thresholdAfterConcern: Float

        public init(
            name: String, scale: Float, bias: Float, slope: Float, offset: Float, threshold: Float, thresholdAfterConcern: Float
        ) {
            self.name = name
            self.scale = scale
            self.bias = bias
            self.slope = slope
            self.offset = offset
            self.threshold = threshold
            self.thresholdAfterConcern = thresholdAfterConcern
        }
    }

    /// One row of weights; a model has at most this many outputs.
    typealias Row = SIMD16<Int8>

    public let outputs: [Output]
    /// One row per bucket; outputs that do not exist are 0.
    private let rows: [Row]

    /// `weights` are `outputs.count` values per bucket, bucket after bucket.
    public init(outputs: [Output], weights: [Int8]) {
        precondition(outputs.count <= Row.scalarCount && weights.count == outputs.count * MessageFeatures.bucketCount)
        self.outputs = outputs
        rows = (0..<MessageFeatures.bucketCount).map { bucket in
            var row = Row()
            for output in outputs.indices { row[output] = weights[bucket * outputs.count + output] }
            return row
        }
    }

    private init(outputs: [Output], rows: [Row]) {
        self.outputs = outputs
        self.rows = rows
    }

    /// The same classifier with the calibration and the thresholds of `outputs`. Its scales and biases stay, because they belong to its weights.
    public func calibrated(by outputs: [Output]) -> LinearClassifier {
        let outputs = zip(self.outputs, outputs).map { trained, calibrated in
            var output = calibrated
            output.scale = trained.scale
            output.bias = trained.bias
            return output
        }
        return LinearClassifier(outputs: outputs, rows: rows)
    }

    func weight(bucket: Int, output: Int) -> Int8 { rows[bucket][output] }

    /// How the scores of a message's windows are combined.
    public enum Pooling: Sendable {
        /// For labels that one window may decide, such as danger.
        case highest
        /// For labels of the whole message, such as its domain.
        case mean
    }

    /// The uncalibrated score of each output.
    public func scores(_ features: MessageFeatures, _ pooling: Pooling) -> [Float] {
        var pooled = [Float](repeating: pooling == .highest ? -.infinity : 0, count: outputs.count)
        for index in features.ends.indices {
            let window = features.window(index)
            let sum = sum(window)
            let norm = Float(max(window.count, 1)).squareRoot()
            for (output, head) in outputs.enumerated() {
                let score = head.bias + head.scale * Float(sum[output]) / norm
                switch pooling {
                case .highest: pooled[output] = max(pooled[output], score)
                case .mean: pooled[output] += score / Float(features.ends.count)
                }
            }
        }
        return pooled
    }

    /// The indices of a message's windows, sorted by one output, the highest first. Leaves out the output's scale and bias, which do not change the order.
    func ranked(_ features: MessageFeatures, by output: Int) -> [Int] {
        let scores = features.ends.indices.map { index in
            let window = features.window(index)
            return Float(sum(window)[output]) / Float(max(window.count, 1)).squareRoot()
        }
        return scores.indices.sorted { scores[$0] > scores[$1] }
    }

    /// The sums of the weights of buckets. Adds in 16 bits what fits there, which takes half the instructions.
    private func sum(_ window: ArraySlice<UInt16>) -> SIMD16<Int32> {
        rows.withUnsafeBufferPointer { rows in
            window.withUnsafeBufferPointer { window in
                var sum = SIMD16<Int32>()
                for start in stride(from: 0, to: window.count, by: LinearClassifier.largestPart) {
                    var part = SIMD16<Int16>()
                    for index in start..<min(start + LinearClassifier.largestPart, window.count) {
                        part &+= SIMD16<Int16>(truncatingIfNeeded: rows[Int(window[index])])
                    }
                    sum &+= SIMD16<Int32>(truncatingIfNeeded: part)
                }
                return sum
            }
        }
    }

    /// The number of 8-bit weights whose sum fits into 16 bits.
    private static let largestPart = 256

    /// Rejects a model with other outputs.
    func require(_ names: [String], file: String) throws(ConfigurationRejected) {
        guard outputs.map(\.name) == names else {
            throw ConfigurationRejected(findings: [
                ConfigurationFinding(file, "", .invalid("must have the outputs \(names.joined(separator: ", "))"))
            ])
        }
    }
}

extension LinearClassifier.Output {
    /// The same output with thresholds above every probability.
    public var inactive: Self {
        var output = self
        output.threshold = 2
        output.thresholdAfterConcern = 2
        return output
    }

    public func probability(_ score: Float) -> Float { 1 / (1 + exp(-(slope * score + offset))) }
}
