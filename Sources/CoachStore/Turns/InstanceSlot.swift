import Foundation
import JSON

/// The folder of one gateway process in a state directory: the first of `1`, `2`, … that no other process uses. It keeps the instance's id
/// and what it has spooled across restarts. The process holds a lock on the file `lock`, which the kernel releases when the process ends.
///
/// A state directory must be used on one machine only: with a copy on another one, two processes would have the same id.
public final class InstanceSlot: Sendable {
    public enum Failure: Error, Equatable, CustomStringConvertible {
        /// Running processes hold all slots.
        case noneFree(directory: String)
        /// The file contains no UUID.
        case unreadable(path: String)

        public var description: String {
            switch self {
            case .noneFree(let directory): "\(directory): all \(InstanceSlot.count) slots are held by running gateways"
            case .unreadable(let path): "\(path): holds no UUID; remove it to let the gateway choose another"
            }
        }
    }

    /// The most processes that can share a state directory.
    public static let count = 64

    /// The instance's id, which stays the same after a restart.
    public let instance: UUID
    public let folder: URL
    private let lock: Int32

    /// The folder of `ReceiptSpool.files`.
    public var receipts: URL { folder.appendingPathComponent(Self.spools[0]) }
    /// The folder of `CallSpool.files`.
    public var calls: URL { folder.appendingPathComponent(Self.spools[1]) }
    private static let spools = ["receipts", "calls"]

    /// Takes the first free slot and holds it until `deinit`. Moves what free slots have spooled here. Throws `Failure` or `FileFault`.
    public init(in directory: URL) throws {
        (folder, lock) = try Self.takeFirst(in: directory)
        do {
            instance = try Self.identity(in: folder)
            for spool in Self.spools { try DurableFile.makeFolder(folder.appendingPathComponent(spool)) }
            try adopt()
        } catch {
            close(lock)
            throw error
        }
    }

    deinit { close(lock) }

    /// Moves here what free slots have spooled: a process has ended, and another may never take its slot. Throws `FileFault`.
    public func adopt() throws {
        for spool in Self.spools { try Self.adopt(spool, from: folder.deletingLastPathComponent(), to: folder) }
    }

    private static func takeFirst(in directory: URL) throws -> (URL, Int32) {
        for number in 1...count {
            let folder = directory.appendingPathComponent(String(number))
            try DurableFile.makeFolder(folder)
            if let lock = try take(folder) { return (folder, lock) }
        }
        throw Failure.noneFree(directory: directory.path)
    }

    /// Locks a slot and returns the descriptor that holds the lock; nil when another process has it.
    private static func take(_ folder: URL) throws -> Int32? {
        let path = folder.appendingPathComponent("lock").path
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFault("open", path) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
        let code = errno
        close(descriptor)
        guard code == EWOULDBLOCK else { throw FileFault("lock", path, code: code) }
        return nil
    }

    private static func identity(in folder: URL) throws -> UUID {
        let file = folder.appendingPathComponent("instance")
        if let bytes = try DurableFile.read(file) {
            let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard let id = UUID(canonical: text) else { throw Failure.unreadable(path: file.path) }
            return id
        }
        let id = UUID()
        try DurableFile.write(
            Data((id.canonicalText + "\n").utf8), to: file, temporary: folder.appendingPathComponent("instance.new"))
        return id
    }

    /// Moves a spool's files here from slots that no process uses, because fewer gateways run on this machine than before.
    private static func adopt(_ spool: String, from directory: URL, to own: URL) throws {
        for name in try DurableFile.names(in: directory) where Int(name) != nil && name != own.lastPathComponent {
            let folder = directory.appendingPathComponent(name)
            let source = folder.appendingPathComponent(spool)
            let files = try DurableFile.names(in: source)
            guard !files.isEmpty, let lock = try take(folder) else { continue }
            defer { close(lock) }
            for file in files {
                let target = own.appendingPathComponent(spool).appendingPathComponent(file)
                guard rename(source.appendingPathComponent(file).path, target.path) == 0 else { throw FileFault("rename", target.path) }
            }
            try DurableFile.syncFolder(own.appendingPathComponent(spool))
        }
    }
}
