import Foundation

/// Port that computes stored entitlements again that another version of the fold wrote, or the same one with another setting for the sandbox. Any
/// instance may run it, also several at the same time; results of a later version stay. `CoachStore` implements it on PostgreSQL.
public struct EntitlementRefolding: Sendable {
    public static let kind = JobKind(rawValue: "refold_subscribers")

    /// A subscriber's place among those whose results are outdated: by the version that wrote them, then by id.
    public struct Place: Sendable {
        public let version: Int
        public let subscriber: Int64

        /// Before all.
        public static let start = Place(version: 0, subscriber: 0)

        public init(version: Int, subscriber: Int64) {
            self.version = version
            self.subscriber = subscriber
        }
    }

    /// The version of the results that this release stores.
    private let version: Int
    /// Computes the results of a page of subscribers after the given place. Returns the place of the last of them, nil when none was left, and how many
    /// have an event that cannot be read: their results stay as they are. Throws `StoreFault` or `CancellationError`.
    public var refoldPart: @Sendable (_ after: Place) async throws -> (last: Place?, unreadable: Int)

    public init(version: Int, refoldPart: @escaping @Sendable (_ after: Place) async throws -> (last: Place?, unreadable: Int)) {
        self.version = version
        self.refoldPart = refoldPart
    }

    /// The job that calls `refoldPart`, once an hour: an instance of the former version may still run for a while.
    public func job(at date: Date) -> NewJob {
        NewJob(Self.kind, idempotencyKey: "\(version) \(Int(date.timeIntervalSince1970) / 3600)")
    }
}
