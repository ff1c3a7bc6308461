import CoreMetrics
import Glibc
import JSON
import Synchronization

extension PrometheusMetricsFactory {
    /// Adds the standard process metrics (prometheus.io/docs/instrumenting/writing_clientlibs, "Process metrics"): CPU time, resident
    /// memory, open files and their limit, start time. They are read from `/proc` at every rendering, and absent without it.
    public func addProcessMetrics() {
        guard ProcessReading.now() != nil else { return }
        let cpu = FloatingPointCounter(label: "process_cpu_seconds_total", factory: self)
        let memory = Meter(label: "process_resident_memory_bytes", factory: self)
        let files = Meter(label: "process_open_fds", factory: self)
        let limit = Meter(label: "process_max_fds", factory: self)
        Meter(label: "process_start_time_seconds", factory: self).set(Double(Timestamp.now.millisecondsSince1970) / 1000)
        let lastCPU = Mutex(0.0)
        beforeRender {
            guard let reading = ProcessReading.now() else { return }
            let grown = lastCPU.withLock { last in
                defer { last = max(last, reading.cpuSeconds) }
                return reading.cpuSeconds - last
            }
            cpu.increment(by: grown)
            memory.set(reading.residentBytes)
            files.set(reading.openFiles)
            limit.set(reading.fileLimit)
        }
    }
}

/// The values of the process metrics at one time.
struct ProcessReading {
    var cpuSeconds: Double
    var residentBytes: Int
    var openFiles: Int
    var fileLimit: Double

    /// Reads the current values; nil without `/proc`.
    static func now() -> ProcessReading? {
        guard let memory = ProcessMemory.now(), let files = openFileCount() else { return nil }
        var usage = rusage()
        var limit = rlimit()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return ProcessReading(
            cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime), residentBytes: memory.residentBytes, openFiles: files,
            fileLimit: Double(limit.rlim_cur))
    }

    private static func openFileCount() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            // "." and ".." are the only names that begin with a dot.
            if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { count += 1 }
        }
        return count - 1  // without the descriptor of the directory itself
    }
}
