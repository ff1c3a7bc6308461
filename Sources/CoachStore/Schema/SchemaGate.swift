import CoachCore
import PostgresClient
import Synchronization

/// Checks whether this release works with the database's schema: it must have all migrations of this release, and still support it.
public final class SchemaGate: Sendable {
    /// The schema is too old or too new for this release.
    public struct Incompatible: Error, CustomStringConvertible {
        public let description: String
    }

    /// A change of the result since the last check.
    public enum Change: Sendable, Equatable {
        case opened
        case closed(finding: String)
    }

    private let probe: DatabaseProbe
    private let needed: String
    private let open = Mutex(false)

    /// - Parameter needed: the version of this release's newest migration.
    public init(client: PostgresClient, needed: String) {
        probe = DatabaseProbe(client: client)
        self.needed = needed
    }

    /// Whether the schema was compatible at the last check; false before the first.
    public var isOpen: Bool { open.withLock { $0 } }

    /// Checks as soon as the database is available; calls `onFailure` for each attempt that failed. Throws `Incompatible` or
    /// `CancellationError`.
    public func admit(pause: Duration = .milliseconds(250), onFailure: (any Error) -> Void = { _ in }) async throws {
        while true {
            do {
                if let finding = try await check() { throw Incompatible(description: finding) }
                return
            } catch let fault as StoreFault {
                onFailure(fault)
                // A database that is away sends no signal when it is back.
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Checks again, because another release may have migrated the database. Returns the change since the last check; nil when there is
    /// none, or the database is unavailable. Throws `CancellationError`.
    public func recheck() async throws -> Change? {
        let before = isOpen
        do {
            let finding = try await check()
            guard isOpen != before else { return nil }
            return finding.map { .closed(finding: $0) } ?? .opened
        } catch is StoreFault {
            return nil
        }
    }

    /// Reads the schema version. Returns why it is incompatible; nil when it is compatible.
    private func check() async throws -> String? {
        let finding = try await StoreFault.translating { try await probe.report() }.schemaFinding(needed: needed)
        open.withLock { $0 = finding == nil }
        return finding
    }
}
