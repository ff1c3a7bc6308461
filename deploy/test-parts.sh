# Running the tests of deploy/test in parts, each with a log and results of its own. Sourced by it, not executed.
# Reads: testing, the folder of the build; width, the number of tests at once; part_limit, the seconds of a part. Counts: parts.

# A test that hangs costs its part of the run, not the whole: a time limit of Swift Testing only cancels what may not listen.
run_tests() { # arguments of swift test
    results=.build/results-$((parts += 1)).xml
    local log=.build/test-part.log status
    timeout --kill-after=10 "${part_limit:-1200}" swift test --scratch-path "$testing" --configuration release --skip-build \
        --xunit-output "$results" --experimental-maximum-parallelization-width "$width" "$@" 2>&1 | tee "$log" | tee -a .build/test.log && return
    status=${PIPESTATUS[0]}
    if [ "$status" -eq 124 ]; then
        say "broken off after ${part_limit:-1200} s" 2>&1 | tee -a .build/test.log
    elif ! grep -q 'Test run with' "$log"; then
        # A fatal error, or the kernel had no memory left: the process wrote no results.
        say "crashed with status $status: $(grep -oE 'Fatal error.*|unexpected signal.*' "$log" | tail -n 1)" 2>&1 | tee -a .build/test.log
    fi
    return 1
}
# A few suites that fail get a second run of their own, which counts: others may have used both cores, or the machine stood still for a moment.
# Not a part that crashed or was broken off, because its results are missing.
run_or_repeat() { # arguments of swift test
    run_tests "$@" && return
    local failed
    failed=$(grep -B 1 '<failure' "${results%.xml}-swift-testing.xml" | grep -o 'classname="[^"]*' | cut -d '"' -f 2 | sort -u) || return 1
    [ "$(wc -l <<<"$failed")" -le 8 ] || return 1
    say "== again, alone: ${failed//$'\n'/, }" 2>&1 | tee -a .build/test.log
    run_tests --no-parallel --filter "^($(paste -sd '|' <<<"$failed"))/"
}
