#include "thread_shims.h"

#include <sys/prctl.h>

void gateway_name_this_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}
