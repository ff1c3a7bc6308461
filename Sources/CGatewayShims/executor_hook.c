#include "executor_hook.h"

#include <stddef.h>

// `SWIFT_CC(swift) void (*)(Job *, swift_task_enqueueGlobal_original)`, swift/Runtime/Concurrency.h.
extern void *swift_task_enqueueGlobal_hook;

static gateway_job_enqueuer installed;

static __attribute__((swiftcall)) void forward(void *job, void *original) {
    (void)original;
    installed(job);
}

bool gateway_install_enqueue_global_hook(gateway_job_enqueuer enqueuer) {
    if (enqueuer == NULL || swift_task_enqueueGlobal_hook != NULL) return false;
    installed = enqueuer;
    swift_task_enqueueGlobal_hook = (void *)forward;
    return true;
}

bool gateway_enqueue_global_hook_is_set(void) {
    return swift_task_enqueueGlobal_hook != NULL;
}
