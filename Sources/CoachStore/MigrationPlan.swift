/// Compares the files with what a database has. Pure.
enum MigrationPlan {
    /// The files that are not yet applied, in order.
    ///
    /// `files` in order, each with its checksum; `applied` in order. Throws the first mismatch.
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
