import Glibc

/// The process's limit of open files. Each stream takes two sockets, and one more in its first second: the soft limit of most systems (1,024)
/// would suffice for 500 turns.
enum FileLimit {
    /// Raises the soft limit of open files to the hard one, and returns the limit that is in force.
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        var raised = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        return Int(clamping: limit.rlim_cur)
    }
}
