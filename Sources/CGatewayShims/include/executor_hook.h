// The concurrency runtime's hook for jobs that belong to no executor.
//
// The symbol is referenced here and not looked up with dlsym, because dlsym finds nothing when the Swift standard library is
// linked statically; a reference works in both link modes.
#pragma once

#include <stdbool.h>

// Receives each job (bit pattern of a Swift `UnownedJob`) that would have gone to the default global executor.
typedef void (*gateway_job_enqueuer)(void *job);

// Sends every global job to `enqueuer` from now on. False, and nothing is changed, when somebody has installed a hook already.
// Call it before the first task starts: jobs already enqueued stay where they are.
bool gateway_install_enqueue_global_hook(gateway_job_enqueuer enqueuer);

bool gateway_enqueue_global_hook_is_set(void);
