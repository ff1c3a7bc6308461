import Glibc

/// A program that a test started, which inherits no descriptor but its standard ones.
final class ChildProcess: Sendable {
    struct Failure: Error {
        let program: String
        let code: Int32
    }

    private let identifier: pid_t
    /// What it writes to its standard output, or, when that was asked for, to its standard error.
    private let output: Int32

    /// - Parameter arguments: the program, found on `PATH` and where servers live, and what it is told.
    init(_ arguments: [String], reportsErrors: Bool = false) throws {
        (identifier, output) = try Self.start(arguments, reportsErrors)
    }

    private static func start(_ arguments: [String], _ reportsErrors: Bool) throws -> (child: pid_t, output: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(program: arguments[0], code: errno) }
        defer { close(ends[1]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, reportsErrors ? 1 : 2, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], reportsErrors ? 2 : 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of tests block signals, and a child inherits that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        // SAFETY: the strings and the array live for the call, and are freed after it.
        var words: [UnsafeMutablePointer<CChar>?] = (["/usr/bin/env", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin"] + arguments).map {
            strdup($0)
        }
        words.append(nil)
        defer { for word in words { free(word) } }
        // Sockets of other tests must not be inherited: their peers would wait for the end of the connection for ever.
        for descriptor in 3..<Int32(8192) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var child = pid_t()
        let code = posix_spawn(&child, "/usr/bin/env", &actions, &attributes, words, environ)
        guard code == 0 else {
            close(ends[0])
            throw Failure(program: arguments[0], code: code)
        }
        return (child, ends[0])
    }

    deinit {
        close(output)
    }

    /// Runs a program to its end and returns what it wrote.
    static func run(_ arguments: [String], reportsErrors: Bool = false, mayFail: Bool = false) throws -> String {
        let child = try ChildProcess(arguments, reportsErrors: reportsErrors)
        let text = child.read { _ in true }
        let code = child.wait()
        guard code == 0 || mayFail else { throw Failure(program: arguments[0], code: code) }
        return text
    }

    /// The next line that it writes. Blocks.
    func line() -> String { read { $0 != UInt8(ascii: "\n") } }

    func kill() {
        Glibc.kill(identifier, SIGKILL)
        _ = wait()
    }

    /// What it writes, until it ends or `isWanted` is false, byte by byte.
    private func read(while isWanted: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while Glibc.read(output, &byte, 1) == 1, isWanted(byte) { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        return status
    }
}
