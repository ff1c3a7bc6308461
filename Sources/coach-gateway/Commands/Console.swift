import Foundation

/// The standard output and error of commands.
enum Console {
    static func writeLine(_ text: String) { write(text + "\n") }

    /// Without a line end, and at once: tokens are shown as they come. Ends the process when the output takes nothing, as when the disk is full.
    static func write(_ text: String) {
        guard !text.isEmpty else { return }
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        } catch {
            Self.error("the standard output cannot be written")
            exit(ioFailure)
        }
    }

    /// EX_IOERR of sysexits.h.
    private static let ioFailure: Int32 = 74

    /// What cannot be written is lost: there is no other place for it.
    static func error(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8)) }

    /// Writes findings as a list to the standard error.
    static func list(_ findings: [String]) { error(findings.map { "- \($0)" }.joined(separator: "\n")) }

    /// The prompt of a chat, for input from a terminal only.
    static func prompt() { if isatty(STDIN_FILENO) == 1 { write("\n> ") } }

    /// Columns of the terminal; nil when the output is none.
    static var width: Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }
}
