import Foundation
import HTTPTestServers
import Testing

@Suite("A proxy between the gateway and its provider", .paced)
struct ProviderProxyTests {
    /// A provider with a name that only the proxy can resolve.
    private func environment(_ more: [String: String]) async throws -> [String: String] {
        let testBed = try await TestBed.shared()
        return Gateway.environment(database: testBed.database.gatewayURL, simulator: nil)
            .merging([
                "OPENAI_API_KEY": "sk-any", "OPENAI_BASE_URL": "http://provider.test:\(testBed.simulator.port)/v1",
            ]) { $1 }
            .merging(more) { $1 }
    }

    @Test("is used when it is configured: an answer streams through it", arguments: ["http_proxy", "socks_proxy"])
    func used(_ script: String) async throws {
        let proxy = try TestServer(script)
        let scheme = script == "http_proxy" ? "http" : "socks5h"
        let testBed = try await TestBed.shared()
        let gateway = try await Gateway(
            database: testBed.database.gatewayURL, simulator: nil,
            environment: try await environment(["all_proxy": "\(scheme)://127.0.0.1:\(proxy.port)", "OPENAI_MODEL": "sim-coach-1"]))
        let word = marker()
        let answer = try await gateway.testUser().chat("Hello \(word)")
        #expect(answer.eventTypes == ["start", "token", "usage", "done"])
        #expect(try await testBed.simulator.requests(containing: word).count == 1)
        if script == "socks_proxy" {
            #expect(proxy.line() == "provider.test:\(testBed.simulator.port)")
        } else {
            let journal = try await Browser(port: proxy.port).send("GET", "/journal")
            #expect(journal.text.contains("POST http://provider.test:\(testBed.simulator.port)/v1/chat/completions"), "\(journal.text)")
        }
    }

    @Test("of every supported kind passes check", arguments: ["http", "https", "socks4a", "socks5", "socks5h"])
    func checked(_ scheme: String) async throws {
        let (status, output) = try await Program.run(
            ["check"], environment: try await environment(["all_proxy": "\(scheme)://u:secret@proxy.test:3128"]))
        #expect(status == 0 && output.contains("no findings"), "\(output)")
    }

    @Test(
        "that is malformed or not supported is an error at start and in check, and is never bypassed",
        arguments: [
            ["http_proxy": "ftp://u:secret@proxy.test:1"], ["http_proxy": "http://u:secret@proxy.test:x"], ["HTTP_PROXY": "proxy.test:1"],
            ["all_proxy": "u:secret@proxy.test:1", "no_proxy": "10.0.0.0/33"],
        ])
    func refused(_ variables: [String: String]) async throws {
        let environment = try await environment(variables)
        for command in ["serve", "check"] {
            let (status, output) = try await Program.run([command], environment: environment)
            #expect(status != 0 && output.contains("provider.test"), "\(command): \(output)")
            #expect(!output.contains("secret") && !output.contains("listening"), "\(command): \(output)")
        }
    }
}
