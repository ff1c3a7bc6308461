import Logging
import Telemetry

/// The process's log: one JSON object a line on standard error.
enum ProcessLog {
    /// To be called once, by a command that serves.
    static func bootstrap(level: Logger.Level) -> Logger {
        LoggingSystem.bootstrap { label in
            var handler = JSONLogHandler(label: label)
            handler.logLevel = level
            return handler
        }
        return Logger(label: "gateway")
    }
}
