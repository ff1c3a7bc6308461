import CoreMetrics
import Synchronization

extension PrometheusMetricsFactory {
    /// Adds the counter of log lines that a writer dropped.
    public func addLogMetrics(of writer: LogWriter) {
        let dropped = Counter(label: "coach_log_lines_dropped_total", factory: self)
        let counted = Mutex(0)
        beforeRender {
            let all = writer.droppedLines
            dropped.increment(
                by: counted.withLock { last in
                    defer { last = all }
                    return all - last
                })
        }
    }
}
