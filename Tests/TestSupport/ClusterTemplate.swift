import Foundation

/// The data directory of a new cluster. `initdb` takes most of the time of a start, so it runs once per process and the directory is copied.
enum ClusterTemplate {
    static let directory = Task {
        let directory = "/tmp/pg-throwaway-\(UUID().uuidString.lowercased().prefix(13))"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        _ = try ThrowawayCluster.runAfterExit("rm -rf '\(directory)'")
        if getuid() == 0 { try await Command.run(try ThrowawayCluster.tool("chown"), [ThrowawayCluster.user, directory]) }
        let initdb = try ThrowawayCluster.unprivileged(
            try PostgresPrograms.path("initdb"),
            [
                "-D", directory + "/data", "-U", ThrowawayCluster.user, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
                "--no-instructions", "--wal-segsize=1",
            ])
        try await Command.run(initdb.program, initdb.arguments)
        return directory + "/data"
    }
}
