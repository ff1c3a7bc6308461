/// A named operation that is repeated and measured: by `Timing` with a clock, by `InstructionCounts` with valgrind.
public struct Workload: Sendable {
    /// Repeats the operation `count` times.
    public typealias Run = @Sendable (_ count: Int) throws -> Void

    public var name: String
    /// How many operations one measurement covers.
    public var batch: Batch
    /// Creates the input of the operation. This is not measured.
    public var prepare: @Sendable () throws -> Run

    public init(_ name: String, _ batch: Batch, prepare: @escaping @Sendable () throws -> Run) {
        self.name = name
        self.batch = batch
        self.prepare = prepare
    }

    public enum Batch: Sendable {
        case one
        /// For an operation of about a microsecond, which is too short for a clock.
        case thousand
    }

    /// The workloads that need neither cryptography nor networking packages, which take minutes to build.
    public static let core = codec + dialects + relay + coaching
}

/// Prevents the optimiser from removing the computation of `value`.
@_optimize(none)
public func blackHole(_ value: some Any) {}
