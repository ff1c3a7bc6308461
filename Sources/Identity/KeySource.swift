import CoachCore

/// Where a key set document is read from, and how often.
public struct KeySource: Sendable {
    /// Larger documents are an error.
    public static let maximumByteCount = 256 * 1024
    /// The longest time from a failed read to the next one.
    public static let retryPause = Duration.seconds(5)

    private let interval: Duration
    /// Reads the document's bytes. May throw any error; then the previous keys stay in use.
    public let load: @Sendable () async throws -> [UInt8]

    /// - Parameter interval: the time between two reads.
    public init(interval: Duration, load: @escaping @Sendable () async throws -> [UInt8]) {
        self.interval = interval
        self.load = load
    }

    /// When to read. Sooner after a failure, because new keys may be in use already.
    public var schedule: PeriodicSchedule { PeriodicSchedule(every: interval, retryEvery: min(interval, Self.retryPause), jitter: 0.1) }
}

/// Why a key set document could not be read.
public enum KeySourceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Neither https nor http on loopback: an attacker on the network could replace the keys. Does not name the URL, which may have a password.
    case insecure
    /// The file does not exist or cannot be read.
    case unreadable(path: String)
    /// More than `KeySource.maximumByteCount` bytes.
    case tooLarge
    /// The response has another status than 200.
    case status(Int)
    /// No complete response in time.
    case timeout
    /// No response, for another reason.
    case unreachable(String)
    /// The document has keys, but none of them can be used.
    case noUsableKey(findings: [String])

    public var description: String {
        switch self {
        case .insecure: "is neither https nor http on loopback"
        case .unreadable(let path): "\(path) cannot be read"
        case .tooLarge: "the key set has more than \(KeySource.maximumByteCount) bytes"
        case .status(let status): "the key set's server answered \(status)"
        case .timeout: "the key set's server did not answer in time"
        case .unreachable(let reason): "the key set's server could not be reached: \(reason)"
        case .noUsableKey(let findings): "no key of the set can be used: \(findings.joined(separator: "; "))"
        }
    }
}
