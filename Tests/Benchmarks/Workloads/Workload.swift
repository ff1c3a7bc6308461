/// An operation to be repeated. `Timing` and `InstructionCounts` measure the same ones.
public struct Workload: Sendable {
    /// Repeats the operation so many times.
    public typealias Run = @Sendable (_ count: Int) throws -> Void

    public var name: String
    /// How many operations are measured together.
    public var batch: Batch
    /// Makes what the operation needs. Nobody measures this.
    public var prepare: @Sendable () throws -> Run

    public init(_ name: String, _ batch: Batch, prepare: @escaping @Sendable () throws -> Run) {
        self.name = name
        self.batch = batch
        self.prepare = prepare
    }

    public enum Batch: Sendable {
        case one
        /// Of what takes a microsecond, too short for a clock.
        case thousand
    }

    /// Those that need neither cryptography nor networking, whose packages take minutes to build.
    public static let core = codec + dialects + relay + coaching
}

/// Keeps the optimiser from leaving out what made the value.
@_optimize(none)
public func blackHole(_ value: some Any) {}
