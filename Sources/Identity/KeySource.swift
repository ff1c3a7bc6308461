/// Where a key set document comes from: one way to read it, and how often.
public struct KeySource: Sendable {
    /// More is not a key set.
    public static let maximumByteCount = 256 * 1024

    /// Between two readings.
    public let interval: Duration
    /// The document's bytes. May throw anything; then the keys that are there stay.
    public let load: @Sendable () async throws -> [UInt8]

    public init(interval: Duration, load: @escaping @Sendable () async throws -> [UInt8]) {
        self.interval = interval
        self.load = load
    }

    /// After `failures` failed readings in a row: sooner than usual at first, 5 s doubling, never later than usual.
    func delay(afterFailures failures: Int) -> Duration {
        failures == 0 ? interval : min(interval, .seconds(5) * (1 << min(failures - 1, 10)))
    }
}

/// What can be wrong with a source before or while it is read.
public enum KeySourceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Neither https nor http on loopback: an attacker on the network could replace the keys.
    case insecure(url: String)
    /// No such file, or no right to read it.
    case unreadable(path: String)
    /// More than `KeySource.maximumByteCount`.
    case tooLarge
    /// The server answered, but not with 200.
    case status(Int)
    /// No whole answer in time.
    case timeout
    /// No answer, for another reason.
    case unreachable(String)
    /// There are keys, and something is wrong with each of them.
    case noUsableKey(findings: [String])

    public var description: String {
        switch self {
        case .insecure(let url): "\(url) is neither https nor http on loopback"
        case .unreadable(let path): "\(path) cannot be read"
        case .tooLarge: "the key set has more than \(KeySource.maximumByteCount) bytes"
        case .status(let status): "the key set's server answered \(status)"
        case .timeout: "the key set's server did not answer in time"
        case .unreachable(let reason): "the key set's server could not be reached: \(reason)"
        case .noUsableKey(let findings): "no key of the set can be used: \(findings.joined(separator: "; "))"
        }
    }
}
