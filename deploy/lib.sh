# shellcheck shell=bash
# What deploy/run and deploy/test share. Sourced, not executed. Bash and Debian 12 only.
# Exit codes: 2 wrong usage, 3 a package is missing and cannot be installed, 4 no Swift toolchain, 5 the build failed,
#             6 PostgreSQL did not start, 7 migration or seed failed, 8 the gateway did not start, 9 already running here,
#             10 the data folder cannot be made, or is not safe to use.

say() { printf '%s\n' "$*" >&2; }

# in_url TEXT: prints it as a part of a URL
in_url() {
    local LC_ALL=C index character
    for ((index = 0; index < ${#1}; index++)); do
        character=${1:index:1}
        case "$character" in
            [A-Za-z0-9._~-]) printf '%s' "$character" ;;
            *) printf '%%%02X' "'$character" ;;
        esac
    done
}

# fail CODE WHAT WHY WHAT_TO_DO
fail() {
    say ""
    say "Failed: $2"
    say "Why:    $3"
    say "Do:     $4"
    exit "$1"
}

require_swift() {
    command -v swift >/dev/null 2>&1 ||
        fail 4 "looking for the Swift toolchain" "there is no 'swift' on PATH" "install Swift 6.3 from https://swift.org/install and run this again"
    local version
    version=$(swift --version 2>/dev/null | grep -oE 'Swift version [0-9]+\.[0-9]+' | grep -oE '[0-9]+\.[0-9]+' | head -n 1) || true
    case "$version" in
        '') fail 4 "asking the Swift toolchain for its version" "$(swift --version 2>&1 | head -n 1)" "install Swift 6.3 from https://swift.org/install" ;;
        6.[3-9] | 6.[1-9][0-9] | [7-9].*) ;;
        *) fail 4 "checking the Swift toolchain" "version $version is older than 6.3" "install Swift 6.3 or later" ;;
    esac
}

installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

missing_packages() { local package; for package in "$@"; do installed "$package" || printf '%s\n' "$package"; done; }

# Keeps Debian from creating its own cluster on port 5432 while the file is there.
createcluster_file=/etc/postgresql-common/createcluster.d/coach-gateway.conf
createcluster_text='create_main_cluster = false'

# apt_line PACKAGE...: prints the installation as one line for root's shell.
apt_line() {
    printf "mkdir -p %s && echo '%s' >%s && " "${createcluster_file%/*}" "$createcluster_text" "$createcluster_file"
    printf 'apt-get update && apt-get install -y --no-install-recommends %s; rm -f %s' "$*" "$createcluster_file"
}

# install_advice PACKAGE...: what to do when packages are missing.
install_advice() {
    if [ "$(id -u)" -eq 0 ]; then printf 'run: '; else printf 'run as root: '; fi
    apt_line "$@"
}

# How root's commands are run; fails when this user may not run any. Sets root.
require_root() { # the packages to be installed
    root=()
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null ||
        fail 3 "installing system packages" "packages are missing and this user may not install any" \
            "$(install_advice "$@")"
    root=(sudo -n)
}

# Fails when packages are missing that this user may not install: for a script that installs them later.
check_packages() {
    local missing root
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -eq 0 ] || require_root "${missing[@]}"
}

# Installs what is missing of the packages named, without their services.
require_packages() {
    local missing root status=0
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    require_root "${missing[@]}"
    say "Installing: ${missing[*]}"
    # One command, because the rights of sudo may expire while it runs.
    "${root[@]}" "$checkout/deploy/install-packages" "${missing[@]}" </dev/null >&2 || status=$?
    [ "$status" -eq 0 ] ||
        fail 3 "installing system packages" "deploy/install-packages ended with $status, see above" \
            "$(install_advice "${missing[@]}")"
}

# Without debug information, which takes time to write and which nothing here reads; a crash names functions all the same. The same for all builds of a
# scratch folder: with others everything is compiled again.
build_options=(-debug-info-format none)

# build_product PRODUCT: makes a release build of the checkout; prints the path of the executable.
build_product() {
    local build=(swift build -c release "${build_options[@]}")
    say "Building $1 (the first time takes several minutes)"
    (cd "$checkout" && "${build[@]}" --product "$1") >&2 ||
        fail 5 "building $1" "swift build failed, see above" "mend the error and run this again"
    printf '%s/%s' "$(cd "$checkout" && "${build[@]}" --show-bin-path)" "$1"
}

port_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The process that listens on a port, as far as this user may see it.
port_owner() {
    command -v ss >/dev/null 2>&1 || return 0
    ss -ltnpH "sport = :$1" 2>/dev/null | grep -oE '"[^"]+",pid=[0-9]+' | head -n 1 | sed -E 's/"([^"]+)",pid=([0-9]+)/\1, process \2/'
}

# Whether a connection has the port as its own, as clients get them from 32768 on: nobody can listen on it then.
port_in_use() { command -v ss >/dev/null 2>&1 && [ -n "$(ss -tanH "sport = :$1" 2>/dev/null)" ]; }

# free_port START [RESERVED]: the first port from START on that can be listened on, and is not RESERVED for a process that starts later.
free_port() {
    local candidate=$1 reserved=${2:-}
    while [ "$candidate" = "$reserved" ] || port_taken "$candidate" || port_in_use "$candidate"; do candidate=$((candidate + 1)); done
    printf '%s' "$candidate"
}

random_secret() { head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; }

# --- A private PostgreSQL cluster -------------------------------------------------------------------------------

# PostgreSQL refuses to run as root: then it runs as the system's user 'postgres'.
as_postgres() {
    if [ "$(id -u)" -eq 0 ]; then (cd / && runuser -u postgres -- "$@"); else (cd / && "$@"); fi
}

# postgres_bin [FOLDER]: prints the folder of PostgreSQL's programs: of the version that the data in FOLDER has, else of the newest.
postgres_bin() {
    local bin version=''
    [ -z "${1:-}" ] || version=$(as_postgres cat "$1/data/PG_VERSION" 2>/dev/null) || version=''
    if [ -n "$version" ]; then
        bin=/usr/lib/postgresql/$version/bin
        [ -x "$bin/postgres" ] ||
            fail 6 "looking for PostgreSQL $version" "the data in $1/data needs it, and it is not installed in $bin" \
                "install postgresql-$version (apt.postgresql.org has what Debian has no more), or remove $1/data with all that is in it"
    else
        bin=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin -type d 2>/dev/null | sort -V | tail -n 1)
        [ -x "$bin/initdb" ] ||
            fail 6 "looking for PostgreSQL" "there is no initdb under /usr/lib/postgresql" "$(install_advice postgresql)"
    fi
    printf '%s' "$bin"
}

# own_folder FOLDER: makes a folder of the cluster's user where everyone can write. One that is there may be anybody's, with links into the folders of
# others, and root would follow them.
own_folder() {
    local why found
    why=$(mkdir -m 0700 "$1" 2>&1) && { chown postgres "$1"; return; }
    # Of a link itself, not of what it points to.
    found=$(LC_ALL=C stat -c '%F of %U with mode %a' "$1" 2>/dev/null) ||
        fail 10 "making the folder $1" "$why" "mend that and run this again"
    [ "$found" = "directory of postgres with mode 700" ] ||
        fail 10 "using the folder $1" "it is a $found, and only a directory of postgres with mode 700 is safe from other users" \
            "look who made it: if it was you, make it the folder of postgres with mode 700, else remove it"
}

# cluster_folder WANTED LINK: prints a folder that the cluster's user can reach. Falls back to one of its own under /var/tmp,
# named after the checkout so that the next start finds it, and leaves LINK pointing to it.
cluster_folder() {
    local wanted=$1 link=$2 own
    if [ "$(id -u)" -ne 0 ]; then
        mkdir -p "$wanted"
        printf '%s' "$wanted"
        return
    fi
    own=/var/tmp/coach-gateway-$(printf '%s' "$wanted" | sha256sum | cut -c1-12)
    # A link is of an earlier start, or of another checkout that has had this name: it is not followed.
    if [ ! -L "$wanted" ]; then
        mkdir -p "$wanted"
        chown postgres "$wanted"
        if as_postgres test -w "$wanted" 2>/dev/null; then printf '%s' "$wanted"; return; fi
        rmdir "$wanted" 2>/dev/null || true
    fi
    own_folder "$own"
    ln -sfn "$own" "$link"
    say "PostgreSQL's user cannot reach this folder: its data lies in $own (linked from $link)"
    printf '%s' "$own"
}

# cluster_create FOLDER PASSWORD [initdb options]
cluster_create() {
    local folder=$1 password=$2 bin file errors
    shift 2
    [ -f "$folder/data/PG_VERSION" ] && return 0
    bin=$(postgres_bin) || exit
    as_postgres rm -rf "$folder/data"
    file=$(mktemp /tmp/coach-password.XXXXXX)
    printf '%s\n' "$password" >"$file"
    [ "$(id -u)" -ne 0 ] || chown postgres "$file"
    errors=$(as_postgres "$bin/initdb" -D "$folder/data" -U postgres --auth=scram-sha-256 --pwfile="$file" \
        --encoding=UTF8 --locale=C.UTF-8 "$@" 2>&1 >/dev/null) || {
        rm -f "$file"
        say "$errors"
        fail 6 "creating the PostgreSQL cluster in $folder" "initdb failed, see above" "free disk space or choose another folder"
    }
    rm -f "$file"
}

# cluster_start FOLDER PORT [settings as -c name=value]
cluster_start() {
    local folder=$1 port=$2 bin
    shift 2
    bin=$(postgres_bin "$folder") || exit
    cluster_stop "$folder"
    # No Unix socket: its path may be longer than the 107 bytes that the system allows.
    as_postgres "$bin/pg_ctl" -D "$folder/data" -l "$folder/postgres.log" -w -t 60 \
        -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' $*" start >/dev/null || {
        as_postgres tail -n 5 "$folder/postgres.log" >&2
        fail 6 "starting PostgreSQL on port $port" "pg_ctl failed, see above" "look into $folder/postgres.log"
    }
}

cluster_running() {
    local pid
    pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -0 "$pid" 2>/dev/null
}

# With the newest pg_ctl, because the version that started it may be removed: this only sends a signal and waits.
cluster_stop() {
    [ -f "$1/data/postmaster.pid" ] || as_postgres test -f "$1/data/postmaster.pid" || return 0
    as_postgres "$(postgres_bin)/pg_ctl" -D "$1/data" -m fast -w -t 30 stop >/dev/null 2>&1 || true
}

# clear_killed_runs PREFIX: stops and removes clusters in folders PREFIX.PROCESS.* of processes that were killed. A link may be anybody's.
clear_killed_runs() {
    local folder run
    for folder in "$1".*.*; do
        run=${folder#"$1".} run=${run%.*}
        if [ -L "$folder" ] || [ ! -d "$folder" ] || [ ! -O "$folder" ] || kill -0 "$run" 2>/dev/null; then continue; fi
        cluster_stop "$folder/postgres-$run"
        rm -rf "$folder"
    done
}
