import Foundation
import Synchronization
import TestSupport

/// Runs the real executable in a new pseudo-terminal: input is echoed, and Ctrl-C sends a signal.
final class Terminal: Sendable {
    private let process: ChildProcess
    /// Held open: reading the master fails once no process has the terminal open, and `availableData` traps then.
    private let terminal: FileHandle
    private let master: FileHandle
    private let shown = Mutex(Data())

    init(_ arguments: [String], environment: [String: String], columns: UInt16 = 40) throws {
        // grantpt, unlockpt and ptsname are not imported: what they do on Linux, by TIOCSPTLCK and TIOCGPTN (linux/tty.h).
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var isLocked: Int32 = 0
        var number: UInt32 = 0
        guard master >= 0, ioctl(master, 0x4004_5431, &isLocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            throw Program.Failure(description: "no terminal")
        }
        let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard slave >= 0, ioctl(master, UInt(TIOCSWINSZ), &size) == 0 else { throw Program.Failure(description: "no terminal") }
        self.master = FileHandle(fileDescriptor: master, closeOnDealloc: true)
        terminal = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        // A new session, whose controlling terminal is standard input.
        process = try ChildProcess(
            ["/usr/bin/setsid", "--ctty", "--wait", Program.executable.path] + arguments,
            environment: environment.merging(["COACH_ROOT": Program.root.path, "PATH": "/usr/bin:/bin"]) { own, _ in own },
            input: .descriptor(slave), output: .descriptor(slave), errors: .descriptor(slave))
        ProcessCleanup.kill(process.identifier)
        self.master.readabilityHandler = { [weak self] handle in
            let bytes = handle.availableData
            if bytes.isEmpty { handle.readabilityHandler = nil }
            self?.shown.withLock { $0.append(bytes) }
        }
    }

    deinit {
        master.readabilityHandler = nil
        process.signal(SIGKILL)
    }

    /// All output so far, with line ends as `\n`.
    var text: String { String(decoding: shown.withLock { $0 }, as: UTF8.self).replacing("\r\n", with: "\n") }

    func type(_ keys: String) throws { try master.write(contentsOf: Data(keys.utf8)) }

    static let interrupt = "\u{3}"

    func waits(for text: String, times: Int = 1, within seconds: Double = 20) async throws {
        try await eventually(within: .seconds(seconds), "\(text) in\n\(self.text)") {
            self.text.components(separatedBy: text).count > times
        }
    }

    func exit(within seconds: Double = 20) async throws -> Int32 {
        try await eventually(within: .seconds(seconds), "the exit in\n\(text)") { !self.process.isRunning }
        return process.wait()
    }
}
