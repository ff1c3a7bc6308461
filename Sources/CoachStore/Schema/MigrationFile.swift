import Foundation

/// One file of `db/migrations`.
public struct MigrationFile: Sendable, Equatable {
    /// The five digits at the beginning of the file name, which give the order.
    public let version: String
    /// The part of the file name after the digits, without extension.
    public let name: String
    public let sql: String

    init(version: String, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
    }

    /// Whether the file is one statement that must run outside a transaction, such as `create index concurrently`.
    var runsOutsideTransaction: Bool { sql.prefix { $0 != "\n" } == "-- migrate: no transaction" }

    /// Whether its statement may run twice, as a rebuild may: outside a transaction the process can end after the statement and before it is recorded.
    var isRepeatable: Bool { !runsOutsideTransaction || sql.lowercased().contains(/if (not )?exists|rebuild_rollups\(\)/) }

    public var fileName: String { "\(version)_\(name).sql" }

    /// Every migration of a directory, in order.
    ///
    /// Throws `MigrationError` when the directory cannot be read, a file is not named `00000_name.sql` or may not run twice though it might,
    /// or two have the same version.
    static func readAll(in directory: URL) throws -> [MigrationFile] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".sql") }.sorted()
        } catch {
            throw MigrationError.unreadable(directory.path)
        }
        guard !names.isEmpty else { throw MigrationError.unreadable(directory.path) }
        var files: [MigrationFile] = []
        for fileName in names {
            guard let (version, name) = parts(of: fileName) else { throw MigrationError.misnamed(fileName) }
            if files.last?.version == version { throw MigrationError.duplicate(version: version) }
            guard let sql = try? String(contentsOf: directory.appendingPathComponent(fileName), encoding: .utf8) else {
                throw MigrationError.unreadable(fileName)
            }
            let file = MigrationFile(version: version, name: name, sql: sql)
            guard file.isRepeatable else { throw MigrationError.notRepeatable(fileName) }
            files.append(file)
        }
        return files
    }

    private static func parts(of fileName: String) -> (version: String, name: String)? {
        guard let match = fileName.wholeMatch(of: /([0-9]{5})_([a-z0-9_]+)\.sql/) else { return nil }
        return (String(match.1), String(match.2))
    }
}

/// A migration that was applied to a database.
public struct AppliedMigration: Sendable, Equatable {
    public let version: String
    public let name: String
    /// SHA-256 of the file's text, in hexadecimal.
    public let checksum: String

    init(version: String, name: String, checksum: String) {
        self.version = version
        self.name = name
        self.checksum = checksum
    }
}

/// Why migrations cannot be applied. Contains names of files, never data.
public enum MigrationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The directory, or a file in it, cannot be read or is empty.
    case unreadable(String)
    /// A file is not named `00000_name.sql`.
    case misnamed(String)
    /// Two files have the same version.
    case duplicate(version: String)
    /// A file was changed after it was applied.
    case edited(String)
    /// A file that runs outside a transaction has neither `if not exists` nor `if exists`.
    case notRepeatable(String)
    /// The database has a migration without a file.
    case missing(String)
    /// A file precedes one that is applied already.
    case outOfOrder(String, newest: String)
    /// Another migrator held the lock until the time limit.
    case busy
    /// A table that the file must lock was in use until the time limit; the file had no effect.
    case locked(String)
    /// A statement failed; the file had no effect.
    case failed(String, reason: String)

    public var description: String {
        switch self {
        case .unreadable(let path): "no migrations can be read from \(path)"
        case .misnamed(let file): "\(file) is not a name for a migration: expected 00000_name.sql"
        case .duplicate(let version): "two migrations have the version \(version)"
        case .edited(let file):
            """
            \(file) was edited after it had been applied. A development database that an earlier state of the sources made is to be recreated: with \
            deploy/run, remove the folder 'postgres' in its data folder. Otherwise restore the file and put the change into a new one
            """
        case .busy: "another migrator is at work: run it again when that one has ended"
        case .locked(let file):
            "\(file) could not lock what it changes, because it was in use all the time: end long transactions, run it again"
        case .notRepeatable(let file): "\(file) runs outside a transaction and may run twice: write 'if not exists' or 'if exists'"
        case .missing(let file): "\(file) was applied to this database, but the file is gone: restore it, or run the newer release"
        case .outOfOrder(let file, let newest): "\(file) comes before \(newest), which is applied already: give it a later version"
        case .failed(let file, let reason): "\(file) failed and had no effect: \(reason)"
        }
    }
}
