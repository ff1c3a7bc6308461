/// The kernel refused a request of the reactor.
public struct ReactorError: Error, Hashable, CustomStringConvertible {
    /// The operation that failed, by its system call's name.
    public let operation: String
    /// The `errno` of the failure.
    public let code: Int32

    public var description: String { "\(operation) failed with errno \(code)" }

    /// Turns "value, or negated errno" into a value or an error.
    static func check(_ result: Int32, _ operation: String) throws(ReactorError) -> Int32 {
        guard result >= 0 else { throw ReactorError(operation: operation, code: -result) }
        return result
    }
}
