import Foundation
import TestSupport
import Testing

/// `deploy/install-packages`, and what `deploy/lib.sh` says to those who may not install, with commands that only record their calls.
@Suite("Installation of packages by deploy", .paced)
struct InstallPackagesTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    /// Runs commands beside copies of the scripts whose files of root lie in the test's folder. `apt-get update` runs `update`.
    /// `apt-get install` installs haproxy and the package that contains the service of nginx, while `old` is there already; then it ends with
    /// `failure`.
    private func run(
        failure: String = "exit 0", update: String = "exit 0", _ commands: String
    ) async throws -> (status: Int32, output: String) {
        try await Program.bash(
            """
            set -euo pipefail
            cd '\(folder.path)'
            mkdir bin files dpkg
            for script in lib.sh install-packages; do
                sed -e "s#/usr/sbin/policy-rc.d#$PWD/policy#" -e "s#/etc/postgresql-common#$PWD/etc#" -e "s#/var/lib/dpkg#$PWD/dpkg#" \\
                    '\(Program.checkout.path)/deploy/'$script >$script
            done
            printf 'installed old\\nconfig-files haproxy\\n' >packages
            echo /lib/systemd/system/old.service >files/old
            echo /lib/systemd/system/haproxy.service >files/haproxy
            printf '/usr/lib/systemd/system/nginx.service\\n/usr/share/nginx/html\\n/lib/systemd/system/nginx.socket\\n' >files/nginx-common
            cat >bin/dpkg-query <<'end'
            #!/bin/sh
            [ "$1" = -L ] || exec cat packages
            shift
            cd files && exec cat "$@"
            end
            cat >bin/apt-get <<'end'
            #!/bin/sh
            echo "apt-get $*" >>calls
            [ "$1" = install ] || { \(update); }
            policy=0
            sh policy 2>/dev/null || policy=$?
            echo "policy $policy, $(cat etc/createcluster.d/coach-gateway.conf)" >>calls
            printf 'installed haproxy\\ninstalled nginx-common\\ninstalled old\\n' >packages
            \(failure)
            end
            cat >bin/systemctl <<'end'
            #!/bin/sh
            case "$*" in
                'is-enabled '*.service) echo enabled ;;
                is-enabled*) echo disabled; exit 1 ;;
                *) echo "systemctl $*" >>calls ;;
            esac
            end
            printf '#!/bin/sh\\necho "sleep $*" >>calls\\n' >bin/sleep
            chmod +x bin/*
            PATH=$PWD/bin:$PATH
            \(commands)
            """)
    }

    /// The calls, without those that ask.
    private var calls: String { (try? String(contentsOfFile: folder.path + "/calls", encoding: .utf8)) ?? "" }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: folder.path + "/" + name) }

    private static let install = "bash install-packages haproxy"

    @Test(
        "starts no service, disables those of new packages, and leaves no file",
        arguments: [
            ("exit 0", 0), ("exit 100", 100), ("kill -TERM $PPID", 143),
        ])
    func services(failure: String, expected: Int) async throws {
        let (status, output) = try await run(failure: failure, Self.install)
        #expect(Int(status) == expected, "\(output)")
        #expect(
            calls == """
                apt-get update -qq
                apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 haproxy
                policy 101, create_main_cluster = false
                systemctl --quiet disable haproxy.service nginx.service

                """)
        #expect(!exists("policy") && !exists("etc/createcluster.d/coach-gateway.conf"))
    }

    @Test("keeps the machine's own policy of services, and removes the one of a run that was killed")
    func policies() async throws {
        let own = try await run("echo 'exit 3' >policy; \(Self.install); cat policy")
        #expect(own.status == 0 && own.output.hasSuffix("exit 3\n") && calls.contains("policy 3"), "\(own.output)")
        let killed = try InstallPackagesTests()
        let second = try await killed.run(
            failure: "[ -e killed ] || { : >killed; kill -KILL $PPID; }", "\(Self.install) || true; \(Self.install)")
        #expect(second.status == 0 && killed.exists("killed") && !killed.exists("policy"), "\(second.output)")
    }

    @Test("waits while another process holds the lock of the lists, and for nothing else", arguments: [true, false])
    func lock(isLocked: Bool) async throws {
        let error = isLocked ? "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1" : "E: no network"
        let (status, output) = try await run(
            update: "[ ! -e failed ] || exit 0; : >failed; echo '\(error)' >&2; exit 100", Self.install)
        #expect(status == (isLocked ? 0 : 100), "\(output)")
        #expect(calls.hasPrefix(isLocked ? "apt-get update -qq\nsleep 5\napt-get update -qq\napt-get install " : "apt-get update -qq\n"))
        #expect(calls.contains("install") == isLocked && output.contains("no network") != isLocked, "\(calls)\(output)")
    }

    @Test("root is not told to be root", arguments: [0, 1000])
    func advice(user: Int) async throws {
        let (status, output) = try await run(". ./lib.sh; id() { echo \(user); }; install_advice curl")
        #expect(status == 0 && output.hasPrefix(user == 0 ? "run: mkdir -p " : "run as root: mkdir -p "), "\(output)")
    }

    @Test("without the rights exit 3 says one line that installs without Debian's own cluster")
    func line() async throws {
        let (status, output) = try await run(
            """
            status=0
            (. ./lib.sh; id() { echo 1000; }; sudo() { return 1; }; check_packages postgresql curl) 2>said || status=$?
            [ ! -e calls ] && sed -n 's/^Do: *run as root: //p' said | bash
            exit $status
            """)
        #expect(status == 3, "\(output)")
        #expect(
            calls.hasPrefix(
                """
                apt-get update
                apt-get install -y --no-install-recommends postgresql curl
                """))
        #expect(calls.contains(", create_main_cluster = false") && !exists("etc/createcluster.d/coach-gateway.conf"))
    }
}
