import Foundation
import Synchronization

/// A shell that outlives the tests by a moment and ends what they left running, also when they crash.
enum ProcessCleanup {
    /// A process of the product that must not outlive this one.
    static func bury(_ process: Int32) {
        // By its own id, and only if nobody else has got that id since.
        afterOurDeath("grep -q coach-gateway /proc/\(process)/comm 2>/dev/null && kill -9 \(process)")
    }

    /// A shell command of one line.
    static func afterOurDeath(_ command: String) {
        list.withLock { try? $0?.write(contentsOf: Data((command + "\n").utf8)) }
    }

    /// What is to be done, in a file that a waiting shell reads in the end.
    private static let list = Mutex(
        { () -> FileHandle? in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("coach-gateway-tests-\(getpid()).sh")
            _ = FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = [
                "-c",
                "trap '' INT TERM HUP; while kill -0 \(getpid()) 2>/dev/null; do sleep 0.3; done; . '\(file.path)'; rm '\(file.path)'",
            ]
            for stream in [\Process.standardInput, \.standardOutput, \.standardError] { shell[keyPath: stream] = FileHandle.nullDevice }
            try? shell.run()
            return try? FileHandle(forWritingTo: file)
        }())
}
