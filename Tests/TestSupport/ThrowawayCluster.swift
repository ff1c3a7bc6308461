import Foundation
import Synchronization

/// A PostgreSQL server on a free port that may be killed, stopped and started again. The server and its data are removed with this object, and
/// when the test process ends.
public final class ThrowawayCluster: @unchecked Sendable {
    /// The superuser, without password.
    public static let user = "postgres"

    /// The TCP port on 127.0.0.1.
    public let port: Int
    /// The directory of the Unix socket.
    public let socketDirectory: String

    private let directory: String
    private let settings: [String: String]
    // Not synchronised: a test starts and stops its cluster in sequence.
    private var server: ChildProcess?
    private var watchdog: ChildProcess?

    /// A URL of a database for the superuser, by TCP.
    public func url(database: String = "postgres") -> String {
        "postgres://\(Self.user)@127.0.0.1:\(port)/\(database)"
    }

    /// Whether `start(tls: true)` is possible here.
    public static var canMakeCertificates: Bool { Command.find("openssl") != nil }

    /// The server's self-signed certificate, when it has TLS.
    public var certificate: String { directory + "/data/server.crt" }

    /// What the server has logged since it was started last.
    public var log: String { (try? String(contentsOfFile: directory + "/log", encoding: .utf8)) ?? "" }

    /// Creates a cluster and starts it.
    /// - Parameters:
    ///   - settings: server settings beyond the usual, such as `["max_connections": "20"]`.
    ///   - tls: whether the server has TLS, with a self-signed certificate for `localhost`.
    ///   - passwords: whether connections by TCP need passwords; by default they do not.
    public static func start(
        settings: [String: String] = [:], tls: Bool = false, passwords: Bool = false
    ) async throws -> ThrowawayCluster {
        let cluster = try await ThrowawayCluster(settings: tls ? settings.merging(["ssl": "on"]) { $1 } : settings)
        if tls { try await cluster.makeCertificate() }
        if passwords { try cluster.requirePasswords() }
        try await cluster.start()
        return cluster
    }

    private init(settings: [String: String]) async throws {
        port = try Self.freePort()
        directory = "/tmp/pg-throwaway-\(UUID().uuidString.lowercased().prefix(13))"
        socketDirectory = directory
        self.settings = settings
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        if getuid() == 0 { try await Command.run(try Self.tool("chown"), [Self.user, directory]) }
        try await Command.run(
            try Self.tool("cp"), ["-a", "--reflink=auto", try await ClusterTemplate.directory.value, directory + "/data"])
    }

    deinit {
        if let server { _ = Self.killFamily(of: server.identifier) }
        server?.wait()
        watchdog?.signal(SIGTERM)
        try? FileManager.default.removeItem(atPath: directory)
    }

    // MARK: Start and stop

    /// Starts the server and waits until it accepts connections.
    public func start() async throws {
        try launch()
        try await waitUntilAccepting()
    }

    /// Starts the server and does not wait.
    public func launch() throws {
        // Without fsync data survives a killed process, because the operating system has it. Its shared memory lies in its folder: a killed
        // server would leave some of it in /dev/shm.
        var all = [
            "fsync": "off", "dynamic_shared_memory_type": "mmap", "listen_addresses": "127.0.0.1", "unix_socket_directories": directory,
            "port": "\(port)",
        ]
        all.merge(settings) { _, own in own }
        let command = try Self.unprivileged(
            try PostgresPrograms.path("postgres"),
            ["-D", directory + "/data"] + all.flatMap { ["-c", "\($0.key)=\($0.value)"] })
        try Data().write(to: URL(fileURLWithPath: directory + "/log"))
        let log = try FileHandle(forWritingTo: URL(fileURLWithPath: directory + "/log"))
        let process = try ChildProcess(
            [command.program] + command.arguments, output: .descriptor(log.fileDescriptor), errors: .descriptor(log.fileDescriptor))
        server = process
        try startWatchdog(process.identifier)
    }

    /// Returns as soon as the server accepts connections.
    public func waitUntilAccepting() async throws {
        let isReady = try PostgresPrograms.path("pg_isready")
        let deadline = ContinuousClock.now.advanced(by: .seconds(30))
        // Each check is a process, so that it is not made too often.
        while (try? await Command.run(isReady, ["-q", "-h", "127.0.0.1", "-p", "\(port)"])) == nil {
            guard server?.isRunning == true, ContinuousClock.now < deadline else {
                throw Command.Failure(description: "the server did not start: \(log)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Ends the server: open transactions are rolled back and clients cut off, or as after a crash when `immediate`.
    public func stop(immediate: Bool = false) async {
        await end(signal: immediate ? SIGQUIT : SIGINT)
    }

    /// Kills the server and all its processes as `kill -9` does, all at once.
    public func kill9() async {
        guard let server else { return }
        let family = Self.killFamily(of: server.identifier)
        await waitUntilGone()
        // The server does not start while one of them holds its shared memory.
        while family.contains(where: Self.isRunning) { try? await Task.sleep(for: .milliseconds(5)) }
    }

    /// Stops and starts.
    public func restart() async throws {
        await stop()
        try await start()
    }

    /// Stops every process of the server: connections stay open without an answer.
    public func sigstop() {
        if let server { Self.signal(SIGSTOP, family: server.identifier) }
    }

    /// Continues after `sigstop`.
    public func sigcont() {
        if let server { Self.signal(SIGCONT, family: server.identifier) }
    }

    /// Creates a database with a unique name. It is dropped with the object.
    public func freshDatabase() async throws -> FreshDatabase {
        try await FreshDatabase(at: url())
    }

    // MARK: Inside

    private func makeCertificate() async throws {
        let openssl = try Self.unprivileged(
            try Self.tool("openssl"),
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost", "-keyout", directory + "/data/server.key", "-out", certificate,
            ])
        try await Command.run(openssl.program, openssl.arguments)
        try await Command.run(try Self.tool("chmod"), ["600", directory + "/data/server.key"])
    }

    private func requirePasswords() throws {
        try Data("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n".utf8)
            .write(to: URL(fileURLWithPath: directory + "/data/pg_hba.conf"))
    }

    private func end(signal: Int32) async {
        guard let server else { return }
        server.signal(signal)
        await waitUntilGone()
    }

    private func waitUntilGone() async {
        guard let server else { return }
        while server.isRunning { try? await Task.sleep(for: .milliseconds(5)) }
        self.server = nil
        watchdog?.signal(SIGTERM)
        watchdog = nil
    }

    /// Starts a shell that removes the server when this process has ended.
    private func startWatchdog(_ server: Int32) throws {
        watchdog = try Self.runAfterExit("kill -9 \(server); sleep 0.3; rm -rf '\(directory)'")
    }

    static func runAfterExit(_ command: String) throws -> ChildProcess {
        try ChildProcess(["/bin/sh", "-c", "while kill -0 \(getpid()) 2>/dev/null; do sleep 0.3; done; \(command)"])
    }

    /// Signals the children first, because they would end with the server.
    private static func signal(_ signal: Int32, family parent: Int32) {
        for child in children(of: parent) { kill(child, signal) }
        kill(parent, signal)
    }

    /// Kills a server and its children, which are returned. Stopped before, it cannot start one meanwhile.
    private static func killFamily(of parent: Int32) -> [Int32] {
        kill(parent, SIGSTOP)
        let children = children(of: parent)
        for process in children + [parent] { kill(process, SIGKILL) }
        return children
    }

    private static func children(of parent: Int32) -> [Int32] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.compactMap { Int32($0) }.filter { status(of: $0)?.parent == parent }
    }

    private static func isRunning(_ process: Int32) -> Bool { status(of: process).map { $0.state != "Z" } ?? false }

    private static func status(of process: Int32) -> (state: Substring, parent: Int32)? {
        // "pid (name) state ppid …"; the name may contain anything.
        guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8), let end = stat.lastIndex(of: ")") else {
            return nil
        }
        let fields = stat[end...].split(separator: " ")
        guard fields.count > 2, let parent = Int32(fields[2]) else { return nil }
        return (fields[1], parent)
    }

    static func tool(_ name: String) throws -> String {
        guard let path = Command.find(name) else { throw Command.Failure(description: "\(name) not found") }
        return path
    }

    /// PostgreSQL refuses to run as root.
    static func unprivileged(_ program: String, _ arguments: [String]) throws -> (program: String, arguments: [String]) {
        guard getuid() == 0 else { return (program, arguments) }
        let drop = ["--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--", program]
        return (try tool("setpriv"), drop + arguments)
    }

    /// A port below the ephemeral range, so that no client of this machine takes it before the server listens or while it is stopped.
    package static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 10_000..<19_000)
            if given.withLock({ $0.insert(port).inserted }), isFree(port) { return port }
        }
        throw Command.Failure(description: "no free port")
    }

    private static let given = Mutex<Set<Int>>([])

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
