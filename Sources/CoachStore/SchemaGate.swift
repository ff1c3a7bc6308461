import CoachCore
import PostgresClient
import Synchronization

/// Whether the database's schema is one that this release works with: at least as new as its own migrations, and not so new that it has left this
/// release behind.
public final class SchemaGate: Sendable {
    /// The schema is too old or too new for this release.
    public struct Incompatible: Error, CustomStringConvertible {
        public let description: String
    }

    /// What a look found that the one before did not.
    public enum Change: Sendable, Equatable {
        case opened
        case closed(finding: String)
    }

    private let probe: DatabaseProbe
    private let needed: String
    private let open = Mutex(false)

    /// `needed`: the newest migration that this release brings along.
    public init(client: PostgresClient, needed: String) {
        probe = DatabaseProbe(client: client)
        self.needed = needed
    }

    /// As of the last look; false before the first.
    public var isOpen: Bool { open.withLock { $0 } }

    /// Looks as soon as the database is there; `onFailure` learns of each attempt that could not. Throws `Incompatible`, or `CancellationError`.
    public func admit(pause: Duration = .milliseconds(250), onFailure: (any Error) -> Void = { _ in }) async throws {
        while true {
            do {
                if let finding = try await look() { throw Incompatible(description: finding) }
                return
            } catch let fault as StoreFault {
                onFailure(fault)
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Looks again: another release may migrate the database. Returns what changed since the last look; nil: nothing, or the database is away,
    /// which is unrelated to its schema. Throws `CancellationError`.
    public func lookAgain() async throws -> Change? {
        let before = isOpen
        do {
            let finding = try await look()
            guard isOpen != before else { return nil }
            return finding.map { .closed(finding: $0) } ?? .opened
        } catch is StoreFault {
            return nil
        }
    }

    private func look() async throws -> String? {
        let finding = try await StoreFault.translating { try await probe.report() }.schemaFinding(needed: needed)
        open.withLock { $0 = finding == nil }
        return finding
    }
}
