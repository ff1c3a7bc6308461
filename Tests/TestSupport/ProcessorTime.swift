import Glibc

/// The processor time that the calling thread has used. Other threads and processes do not count.
package func threadProcessorTime() -> Duration {
    time(of: CLOCK_THREAD_CPUTIME_ID)
}

/// The time since the machine started, in which also waits count.
package func elapsedTime() -> Duration {
    time(of: CLOCK_MONOTONIC)
}

private func time(of clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
