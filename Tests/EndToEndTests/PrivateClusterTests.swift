import Foundation
import TestSupport
import Testing

/// The functions of `deploy/lib.sh` for clusters.
@Suite("Private clusters of deploy", .paced)
struct PrivateClusterTests {
    private let folder: Folder
    private let library = Program.checkout.path + "/deploy/lib.sh"

    init() throws { folder = try Folder() }

    // The name is that of the script for a folder that postgres cannot reach.
    @Test(
        "root uses no folder in /var/tmp that another user may have made",
        .enabled(if: getuid() == 0, "only root runs PostgreSQL as another user"),
        arguments: [
            ("mkdir -m 0700 $own; chown postgres $own", 0), (":", 0), ("ln -s $elsewhere $own", 10), ("ln -s /nowhere $own", 10),
            ("mkdir -m 0700 $own; chown nobody $own", 10), ("mkdir -m 0755 $own; chown postgres $own", 10), (": >$own", 10),
        ])
    func folders(before: String, expected: Int) async throws {
        let (status, output) = try await Program.bash(
            """
            set -euo pipefail
            cd '\(folder.path)'
            . '\(library)'
            mkdir -m 0700 closed elsewhere
            elsewhere=$PWD/elsewhere
            trap 'rm -rf "$own"' EXIT
            own=$(cluster_folder "$PWD/closed/postgres" "$PWD/closed/postgres" 2>/dev/null)
            [ "$(stat -c '%F %U %a' "$own")" = 'directory postgres 700' ] && [ "$(readlink closed/postgres)" = "$own" ]
            rm -r "$own"
            \(before)
            status=0
            found=$(cluster_folder "$PWD/closed/postgres" "$PWD/closed/postgres") || status=$?
            [ "$status" -ne 0 ] || [ "$found" = "$own" ]
            [ "$(stat -c %U elsewhere)" = root ]
            exit "$status"
            """)
        #expect(Int(status) == expected, "\(output)")
        #expect(expected == 0 || ["Failed: ", "Why:    ", "Do:     "].allSatisfy { output.contains("\n" + $0) }, "\(output)")
    }

    @Test("clusters in memory of killed runs are removed, a link of the same name is not followed")
    func memory() async throws {
        let (status, output) = try await Program.bash(
            """
            set -euo pipefail
            cd '\(folder.path)'
            . '\(library)'
            cluster_stop() { echo "stopped ${1#"$PWD"/}"; }
            # No process has these ids, which are above the kernel's limit.
            mkdir -p test.99999991.a elsewhere/postgres-99999992/data "test.$$.c"
            ln -s elsewhere test.99999992.b
            clear_killed_runs "$PWD/test"
            ls -d test.* elsewhere/*
            """)
        #expect(status == 0 && output.hasPrefix("stopped test.99999991.a/postgres-99999991\n"), "\(output)")
        let left = output.split(separator: "\n").dropFirst()
        #expect(left.count == 3 && left.contains("elsewhere/postgres-99999992") && left.contains("test.99999992.b"), "\(output)")
    }

    /// Runs commands with programs of PostgreSQL 15 and 16, which say their version.
    private func withVersions(_ commands: String) async throws -> (status: Int32, output: String) {
        try await Program.bash(
            """
            set -euo pipefail
            cd '\(folder.path)'
            sed "s#/usr/lib/postgresql#$PWD/versions#g" '\(library)' >lib.sh
            for version in 15 16; do
                mkdir -p versions/$version/bin
                printf '#!/bin/sh\\necho pg_ctl of %s >&2\\n' $version >versions/$version/bin/pg_ctl
                cp versions/$version/bin/pg_ctl versions/$version/bin/initdb
                cp versions/$version/bin/pg_ctl versions/$version/bin/postgres
            done
            chmod +x versions/*/bin/*
            mkdir data
            . ./lib.sh
            as_postgres() { "$@"; }
            \(commands)
            """)
    }

    @Test("data is served by the version that made it, a new cluster is made by the newest")
    func versions() async throws {
        let (status, output) = try await withVersions(
            """
            echo 15 >data/PG_VERSION
            cluster_create "$PWD" secret
            cluster_start "$PWD" 1
            rm -r data
            cluster_create "$PWD" secret && postgres_bin "$PWD"
            """)
        #expect(status == 0 && output.hasPrefix("pg_ctl of 15\n") && output.hasSuffix("/versions/16/bin"), "\(output)")
    }

    @Test("data of a version that is gone is left alone, and the failure names the version")
    func goneVersion() async throws {
        let (status, output) = try await withVersions("echo 14 >data/PG_VERSION; cluster_start \"$PWD\" 1")
        #expect(status == 6 && output.contains("Failed: looking for PostgreSQL 14\n") && output.contains("postgresql-14"), "\(output)")
        #expect(!output.contains("pg_ctl of"), "\(output)")
    }
}
