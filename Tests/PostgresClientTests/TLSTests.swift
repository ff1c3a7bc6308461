import Foundation
import PostgresClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)), .enabled(if: ThrowawayCluster.canMakeCertificates, "openssl makes the certificate"))
struct TLSTests {
    @Test("over TLS, with the certificate and the name checked, large results and parameters pass in both directions")
    func verified() async throws {
        let cluster = try await ThrowawayCluster.start(tls: true)
        let url = cluster.url() + "?sslmode=verify-full&sslrootcert=\(cluster.certificate)"
        try await withClient(at: url.replacing("127.0.0.1", with: "localhost"), configure: { $0.sharedConnections = 1 }) { client in
            try await expectEqual(client.query("select ssl from pg_stat_ssl where pid = pg_backend_pid()") { $0.bool(0, 0) }, true)
            let text = String(repeating: "0123456789abcdef", count: 65536)
            try await withThrowingTaskGroup { group in
                for size in 1...40 {
                    group.addTask {
                        let count = try await client.query("select \(text)::text || repeat('x', \(size * 10007)::int)") { rows in
                            rows.withBytes(0, 0) { $0?.count }
                        }
                        #expect(count == text.utf8.count + size * 10007)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("a certificate with another name, from an unknown authority, or without a trusted root is rejected")
    func wrongCertificate() async throws {
        let cluster = try await ThrowawayCluster.start(tls: true)
        for (authority, words) in [
            (cluster.certificate, "does not match"), ("/not/there", "does not exist"),
            ("/etc/ssl/certs/ca-certificates.crt", "certificate verify failed"),
        ] {
            try await withClient(at: cluster.url() + "?sslmode=verify-full&sslrootcert=\(authority)") { client in
                let error = await postgresError { _ = try await client.int("select 1") }
                #expect(error?.kind == .unavailable)
                #expect(error?.connectionFailure == .certificate)
                #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            }
        }
    }
}
