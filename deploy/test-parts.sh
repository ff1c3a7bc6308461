# shellcheck shell=bash
# Running the tests of deploy/test in parts, each with a log and results of its own. Sourced by it, not executed.
# Reads: tests, the executable of all tests; width, the number of tests at once; part_limit, the seconds of a part. Counts: parts.

# A test that hangs costs its part of the run, not the whole: a time limit of Swift Testing only cancels what may not listen.
# The executable itself, as `swift test` would run it: that plans the build again for each part, and where the environment is another one than before
# compiles the manifests of all packages, which takes eight seconds.
run_tests() { # arguments of Swift Testing
    results=.build/results-$((parts += 1)).xml
    local log=.build/test-part.log status reason began=$SECONDS
    # In the foreground: at the limit only the tests are ended, and what waits for their end cleans up after them.
    timeout --foreground --kill-after=10 "${part_limit:-1200}" "$tests" --testing-library swift-testing --xunit-output "$results" \
        --experimental-maximum-parallelization-width "$width" "$@" 2>&1 | tee "$log" | tee -a .build/test.log && return
    status=${PIPESTATUS[0]}
    # Killed, it may not have ended when it was told to.
    if [ "$status" -eq 124 ] || { [ "$status" -eq 137 ] && [ $((SECONDS - began)) -ge "${part_limit:-1200}" ]; }; then
        say "broken off after ${part_limit:-1200} s" 2>&1 | tee -a .build/test.log
    elif ! grep -q 'Test run with' "$log"; then
        # A fatal error, or the kernel had no memory left: the process wrote no results.
        reason=$(grep -oE 'Fatal error.*' "$log" | tail -n 1) || true
        say "crashed with status $status${reason:+: $reason}" 2>&1 | tee -a .build/test.log
    fi
    return 1
}
# A few suites that fail get a second run of their own, which counts: others may have used both cores, or the machine stood still for a moment.
# Not a part that crashed or was broken off, because its results are missing.
run_or_repeat() { # arguments of Swift Testing
    run_tests "$@" && return
    local failed
    failed=$(grep -B 1 '<failure' "$results" | grep -o 'classname="[^"]*' | cut -d '"' -f 2 | sort -u) || return 1
    [ "$(wc -l <<<"$failed")" -le 8 ] || return 1
    say "== again, alone: ${failed//$'\n'/, }" 2>&1 | tee -a .build/test.log
    run_tests --no-parallel --filter "^($(paste -sd '|' <<<"$failed"))/"
}
