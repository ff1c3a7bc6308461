import Foundation
import Synchronization
import TestSupport

/// Stops processes that the tests left running, by a shell that waits for the tests' end, also after a crash.
enum ProcessCleanup {
    /// Kills a process when the tests have ended.
    static func kill(_ process: Int32) {
        guard let start = startTime(of: process) else { return }
        // By its id, and only if that is not another process's since: ids are used again while the next tests run.
        let now = "$(cut -d ')' -f 2 /proc/\(process)/stat 2>/dev/null | cut -d ' ' -f 21)"
        runAtEnd("[ \"\(now)\" = '\(start)' ] && kill -9 \(process)")
    }

    /// In ticks since the start of the machine (proc_pid_stat(5)); nil when it has ended.
    private static func startTime(of process: Int32) -> Substring? {
        guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8), let end = stat.lastIndex(of: ")") else {
            return nil
        }
        // The first of these is the end of the second field.
        let fields = stat[end...].split(separator: " ")
        return fields.count > 20 ? fields[20] : nil
    }

    /// Runs a shell command of one line when the tests have ended.
    static func runAtEnd(_ command: String) {
        list.withLock { try? $0.file?.write(contentsOf: Data((command + "\n").utf8)) }
    }

    /// The commands, in a file that the waiting shell reads.
    private static let list = Mutex(
        { () -> (shell: ChildProcess?, file: FileHandle?) in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("coach-gateway-tests-\(getpid()).sh")
            _ = FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
            let script =
                "trap '' INT TERM HUP; while kill -0 \(getpid()) 2>/dev/null; do sleep 0.3; done; . '\(file.path)'; rm '\(file.path)'"
            return (try? ChildProcess(["/bin/sh", "-c", script]), try? FileHandle(forWritingTo: file))
        }())
}
