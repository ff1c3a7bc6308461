/// A system call of the reactor failed.
public struct ReactorError: Error, Hashable, CustomStringConvertible {
    /// The name of the system call, for instance `epoll_ctl add`.
    public let operation: String
    /// The `errno` of the failure.
    public let code: Int32

    public var description: String { "\(operation) failed with errno \(code)" }

    /// Returns the result of a C shim; throws when it is negative, that is, a negated errno.
    static func check(_ result: Int32, _ operation: String) throws(ReactorError) -> Int32 {
        guard result >= 0 else { throw ReactorError(operation: operation, code: -result) }
        return result
    }
}
