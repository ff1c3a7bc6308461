import PostgresClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ScramVerifierTests {
    @Test("a role whose password was set as a verifier logs in with the password, and with no other")
    func login() async throws {
        let cluster = try await ThrowawayCluster.start()
        let password = "correct horse 'é"
        let verifier = try ScramVerifier.make(password: password, user: "somebody")
        #expect(verifier.wholeMatch(of: /SCRAM-SHA-256\$4096:[A-Za-z0-9+\/=]+\$[A-Za-z0-9+\/=]+:[A-Za-z0-9+\/=]+/) != nil)
        #expect(try ScramVerifier.make(password: password, user: "somebody") != verifier, "the salt is random")
        try await withClient(at: cluster.url()) { client in
            try await client.withConnection { lease in
                try await lease.execute(script: "create role somebody login password '\(verifier)'")
                let file = try await lease.query("show hba_file") { try $0.only { try $0.value(0, as: String.self) } }
                try await lease.execute(
                    script: "copy (values ('host all somebody all scram-sha-256'), ('host all all all trust')) to '\(file)'")
            }
        }
        try await cluster.restart()
        func name(_ password: String) -> String {
            "host=127.0.0.1 port=\(cluster.port) dbname=postgres user=somebody password='\(password.replacing("'", with: "\\'"))'"
        }
        try await withClient(at: name(password)) { client in try await expectEqual(client.text("select current_user"), "somebody") }
        try await withClient(at: name("wrong"), configure: { $0.defaultDeadline = .seconds(1) }) { client in
            await #expect(throws: PostgresError.self) { try await client.text("select current_user") }
        }
    }
}
