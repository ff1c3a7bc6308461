import Foundation
import Synchronization
import TestSupport

/// Stops processes that the tests left running, by a shell that waits for the tests' end, also after a crash.
enum ProcessCleanup {
    /// Kills a process of the product when the tests have ended.
    static func kill(_ process: Int32) {
        // By its id, and only if the id is not used by another program since.
        runAtEnd("grep -q coach-gateway /proc/\(process)/comm 2>/dev/null && kill -9 \(process)")
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
