import Foundation

/// The standard output and error of commands.
enum Console {
    static func writeLine(_ text: String) { write(text + "\n") }

    /// Without a line end, and at once: tokens are shown as they come.
    static func write(_ text: String) { if !text.isEmpty { FileHandle.standardOutput.write(Data(text.utf8)) } }

    static func error(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

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
