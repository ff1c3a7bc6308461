# shellcheck shell=bash
# How deploy/run stops the processes that it has started. Sourced by it, not executed.

# Seconds after which a gateway that was asked to end has ended: deploy/README.md, "What a failure costs", says 240 with the default drain.
drain_limit() {
    local value longest=30
    for value in "${COACH_DRAIN_SECONDS:-}" "${COACH_DRAIN_NOTICE_SECONDS:-}"; do
        if [[ $value =~ ^[0-9]+$ ]] && [ $((10#$value)) -gt "$longest" ]; then longest=$((10#$value)); fi
    done
    printf '%s' $((longest + 210))
}

# Set to yes by a signal that comes meanwhile.
stop_now=no

# stop_process PID SECONDS [NOTICE]: asks a child to end, waits, and after two seconds prints NOTICE. Kills it after SECONDS, or once `stop_now` is yes.
stop_process() {
    [ -n "$1" ] && kill -0 "$1" 2>/dev/null || return 0
    kill -TERM "$1" 2>/dev/null || true
    local tenths=0
    # A child that has ended stays in the table, as Z, until it is waited for.
    while [ "$stop_now" = no ] && [ "$tenths" -lt $(($2 * 10)) ] && grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"; do
        [ "$tenths" -ne 20 ] || [ -z "${3:-}" ] || say "$3"
        sleep 0.1
        tenths=$((tenths + 1))
    done
    kill -KILL "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}
