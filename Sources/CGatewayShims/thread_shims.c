#define _GNU_SOURCE
#include "thread_shims.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void gateway_name_this_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}

// The first version of the kernel's struct sched_attr; its header conflicts with glibc's sched.h.
struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

int gateway_set_time_slice(uint64_t nanoseconds) {
    struct scheduling scheduling = {0};
    // The rest, as the nice value, stays as it is.
    if (syscall(SYS_sched_getattr, 0, &scheduling, sizeof scheduling, 0) != 0) return -1;
    scheduling.runtime = nanoseconds;
    return (int)syscall(SYS_sched_setattr, 0, &scheduling, 0);
}
