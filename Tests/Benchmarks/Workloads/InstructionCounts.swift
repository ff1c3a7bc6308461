import Foundation

/// The command line of the executables that `deploy/instructions` runs under valgrind.
public enum InstructionCounts {
    /// `list` prints each workload with the number of operations to count; `run NAME COUNT` runs them.
    ///
    /// All on the main thread: a pool of threads executes now more, now fewer instructions, and the system call (rt_sigsuspend) in which an
    /// asynchronous `main` sleeps kills Debian's valgrind.
    public static func main(_ workloads: [Workload], arguments: [String] = CommandLine.arguments) {
        do {
            try perform(Array(arguments.dropFirst()), of: workloads)
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func perform(_ arguments: [String], of workloads: [Workload]) throws {
        switch (arguments.first, arguments.count) {
        case ("list", 1):
            for workload in workloads { print(workload.name, workload.batch == .one ? 20 : 1000) }
        case ("run", 3):
            guard let workload = workloads.first(where: { $0.name == arguments[1] }), let count = Int(arguments[2]) else { throw Usage() }
            try workload.prepare()(count)
        default:
            throw Usage()
        }
    }

    private struct Usage: Error, CustomStringConvertible {
        let description = "usage: list | run NAME COUNT"
    }
}
