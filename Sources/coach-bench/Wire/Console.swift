import Foundation

/// Lines for whoever started the process: unbuffered, so that a pipe sees them at once.
enum Console {
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
