import Foundation

/// Debian's PgBouncer in transaction mode in front of a server, on a free port; stopped with this object and when the test process ends.
/// It has the default settings, which reject unknown start-up parameters.
public final class Pooler: Sendable {
    public let port: Int
    private let process: ChildProcess
    private let watchdog: ChildProcess
    private let directory: String

    /// Nil when the package is not installed.
    public static var program: String? { ["/usr/sbin/pgbouncer"].first(where: FileManager.default.isExecutableFile) }

    /// - Parameters:
    ///   - url: the server; the database is chosen by each client.
    ///   - users: the roles that may log in, with their passwords at the server.
    public init(inFrontOf url: String, users: [String: String]) async throws {
        guard let program = Self.program else { throw Command.Failure(description: "pgbouncer is not installed") }
        guard let server = URLComponents(string: url), let serverPort = server.port else { throw Command.Failure(description: "no port") }
        port = try ThrowawayCluster.freePort()
        directory = "/tmp/pgbouncer-\(UUID().uuidString.lowercased().prefix(13))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let users = users.map { "\"\($0.key)\" \"\($0.value)\"\n" }.joined()
        try Data(users.utf8).write(to: URL(fileURLWithPath: directory + "/users"))
        let settings = """
            [databases]
            * = host=\(server.host ?? "127.0.0.1") port=\(serverPort)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = trust
            auth_file = \(directory)/users
            pool_mode = transaction
            default_pool_size = 3
            max_client_conn = 200
            """
        try Data(settings.utf8).write(to: URL(fileURLWithPath: directory + "/pgbouncer.ini"))
        try Data().write(to: URL(fileURLWithPath: directory + "/log"))
        let log = try FileHandle(forWritingTo: URL(fileURLWithPath: directory + "/log"))
        let command = try ThrowawayCluster.unprivileged(program, ["-q", directory + "/pgbouncer.ini"])
        process = try ChildProcess(
            [command.program] + command.arguments, output: .descriptor(log.fileDescriptor), errors: .descriptor(log.fileDescriptor))
        watchdog = try ThrowawayCluster.runAfterExit("kill \(process.identifier); rm -rf '\(directory)'")
        try await waitUntilAccepting()
    }

    deinit {
        process.signal(SIGTERM)
        watchdog.signal(SIGTERM)
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A server's URL, through the pooler.
    public func url(_ url: String) throws -> String {
        guard var parts = URLComponents(string: url) else { throw Command.Failure(description: "not a URL") }
        (parts.host, parts.port) = ("127.0.0.1", port)
        return parts.string ?? url
    }

    private func waitUntilAccepting() async throws {
        let isReady = try PostgresPrograms.path("pg_isready")
        let deadline = ContinuousClock.now.advanced(by: .seconds(30))
        while (try? await Command.run(isReady, ["-q", "-h", "127.0.0.1", "-p", "\(port)"])) == nil {
            guard process.isRunning, ContinuousClock.now < deadline else {
                let log = (try? String(contentsOfFile: directory + "/log", encoding: .utf8)) ?? ""
                throw Command.Failure(description: "pgbouncer did not start: \(log)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
