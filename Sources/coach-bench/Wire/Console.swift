import Foundation

/// Writes lines to standard output without buffering, so that the reader of a pipe receives them at once.
enum Console {
    static func write(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
