import Foundation
import Glibc

extension ChildProcess {
    /// Calls posix_spawn. The ends of pipes that this process keeps are closed in the child.
    static func spawn(
        _ arguments: [String], _ environment: [String: String]?, _ directory: String?, _ input: Stream, _ output: Stream,
        _ errors: Stream
    ) throws -> (identifier: pid_t, input: Int32?, output: Int32?) {
        guard let name = arguments.first, let program = name.contains("/") ? name : Command.find(name) else {
            throw Failure(description: "\(arguments.first ?? "no program") not found")
        }
        var inputPipe: [Int32] = [-1, -1]
        var outputPipe: [Int32] = [-1, -1]
        if case .pipe = input { pipe(&inputPipe) }
        for case .pipe in [output, errors] where outputPipe[0] < 0 { pipe(&outputPipe) }
        defer { for end in [inputPipe[0], outputPipe[1]] where end >= 0 { close(end) } }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream, end) in [(0, input, inputPipe[0]), (1, output, outputPipe[1]), (2, errors, outputPipe[1])]
            as [(Int32, Stream, Int32)]
        {
            switch stream {
            case .null: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0)
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            case .pipe: posix_spawn_file_actions_adddup2(&actions, end, number)
            }
        }
        // Sockets of other tests must not be inherited: their peers would wait for the end of the connection for ever. (Swift does not import
        // posix_spawn_file_actions_addclosefrom_np.)
        for descriptor in 3..<Int32(8192) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of tests block signals, and libraries ignore SIGPIPE; a child inherits both.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in [SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        // SAFETY: the strings and the arrays live for the call, and are freed after it.
        let command = (directory.map { ["/usr/bin/env", "--chdir=\($0)"] } ?? []) + [program] + arguments.dropFirst()
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        let all = environment ?? ProcessInfo.processInfo.environment
        var variables: [UnsafeMutablePointer<CChar>?] = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var child = pid_t()
        let code = posix_spawn(&child, command[0], &actions, &attributes, &words, &variables)
        guard code == 0 else {
            for end in [inputPipe[1], outputPipe[0]] where end >= 0 { close(end) }
            throw Failure(description: "\(program) cannot be started: \(String(cString: strerror(code)))")
        }
        return (child, inputPipe[1] < 0 ? nil : inputPipe[1], outputPipe[0] < 0 ? nil : outputPipe[0])
    }
}
