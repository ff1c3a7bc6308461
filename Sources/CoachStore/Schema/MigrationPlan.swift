/// Compares the migration files with those that were applied to a database. Pure.
enum MigrationPlan {
    /// The files that are not yet applied, in order.
    ///
    /// Both arguments are in order; `files` have their checksums. Throws the first mismatch.
    static func pending(
        files: [(file: MigrationFile, checksum: String)], applied: [AppliedMigration]
    ) throws(MigrationError) -> [MigrationFile] {
        var byVersion: [String: (file: MigrationFile, checksum: String)] = [:]
        for file in files { byVersion[file.file.version] = file }
        for migration in applied {
            guard let known = byVersion.removeValue(forKey: migration.version) else {
                throw .missing("\(migration.version)_\(migration.name).sql")
            }
            guard known.checksum == migration.checksum else { throw .edited(known.file.fileName) }
        }
        let pending = files.map(\.file).filter { byVersion[$0.version] != nil }
        if let newest = applied.last, let late = pending.first(where: { $0.version < newest.version }) {
            throw .outOfOrder(late.fileName, newest: "\(newest.version)_\(newest.name).sql")
        }
        return pending
    }
}
