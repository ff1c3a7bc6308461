import Foundation
import Logging
import Telemetry

/// The process's log: one JSON object a line on standard error, written to its end when the process ends.
enum ProcessLog {
    /// To be called once, by a command that serves.
    static func bootstrap(level: Logger.Level) -> Logger {
        LoggingSystem.bootstrap { label in
            var handler = JSONLogHandler(label: label)
            handler.logLevel = level
            return handler
        }
        // A reader that is gone costs lines, not the process.
        signal(SIGPIPE, SIG_IGN)
        atexit { LogWriter.standardError.flush(within: .seconds(1)) }
        return Logger(label: "gateway")
    }
}
