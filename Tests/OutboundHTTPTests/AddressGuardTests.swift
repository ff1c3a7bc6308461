import HTTPTestServers
import Synchronization
import Testing

@testable import OutboundHTTP

@Suite("Requests restricted to public addresses")
struct AddressGuardTests {
    let origin: TestServer

    init() throws { origin = try TestServer("origin") }

    private func guarded(_ url: String) -> OutboundRequest {
        var request = OutboundRequest(url: url)
        request.destination = .publicOnly
        return request
    }

    @Test(
        "every text form of a loopback or private address is rejected",
        arguments: [
            "127.0.0.1", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "127.0.0.1.", "0.0.0.0", "0", "localhost",
            "LOCALHOST",
            "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
            "[2002:7f00:1::]", "[fe80::1]", "[fc00::1]", "[ff02::1]", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1", "255.255.255.255",
        ])
    func forms(host: String) async throws {
        let client = try OutboundHTTPClient()
        let error = try await client.error(of: guarded(origin.url("/hello", host: host)))
        // Texts that are not an address are names, which do not resolve.
        #expect(error.code == .forbiddenAddress || error.code == .resolve || error.code == .invalidRequest, "\(error)")
        #expect(try await client.journal(of: origin).connections == 1)
    }

    @Test("a name with only private addresses is rejected; one with private and public addresses uses the public ones")
    func names() async throws {
        let answer = Mutex(["127.0.0.1"])
        let client = try OutboundHTTPClient { _ in .success(answer.withLock(\.self)) }
        let error = try await client.error(of: guarded(origin.url("/hello", host: "a.test")))
        #expect(error.code == .forbiddenAddress)
        answer.withLock { $0 = ["::1", "10.1.2.3", "fe80::1%lo"] }
        #expect(try await client.error(of: guarded(origin.url("/hello", host: "b.test"))).code == .forbiddenAddress)
        #expect(try await client.journal(of: origin).requests.isEmpty)
    }

    @Test("an address that libcurl looks up by itself is rejected when the socket is opened")
    func socket() async throws {
        // The address is not checked before, as if another transfer had changed libcurl's cache.
        let prepared = try PreparedRequest(guarded("http://public.test/"), OutboundConfiguration())
        #expect(!prepared.mayConnect(to: IPAddress("127.0.0.1")))
        #expect(!prepared.mayConnect(to: nil))
        #expect(prepared.mayConnect(to: IPAddress("93.184.216.34")))
    }

    @Test("a reused connection to a private address, opened by another request, is rejected")
    func keptConnection() async throws {
        // The guarded request resolves to a public address; libcurl reuses an open connection to the same name before it reads addresses.
        let answers = Mutex([["93.184.216.34"], ["127.0.0.1"]])
        let client = try OutboundHTTPClient { _ in .success(answers.withLock { $0.popLast() ?? [] }) }
        #expect(try await client.send(OutboundRequest(url: origin.url("/echo", host: "a.test"))).status == 200)
        let error = try await client.error(of: guarded(origin.url("/hello", host: "a.test")))
        #expect(error.code == .forbiddenAddress)
        #expect(try await client.journal(of: origin).requests == ["GET /echo"])
    }

    @Test("a redirect to this machine is not followed", arguments: ["http://127.0.0.1:1/", "file:///etc/passwd"])
    func redirect(location: String) async throws {
        let client = try OutboundHTTPClient()
        #expect(try await client.send(OutboundRequest(url: origin.url("/status/302?\(location)"))).status == 302)
    }

    @Test("a request restricted to public addresses uses a proxy only if that refuses private addresses")
    func proxy() throws {
        var configuration = OutboundConfiguration()
        configuration.proxies.plain = ProxyURL("http://127.0.0.1:3128")
        #expect(throws: OutboundError.self) { try PreparedRequest(guarded("http://example.com/"), configuration) }
        configuration.proxies.guardPrivateAddresses = true
        #expect(throws: Never.self) { try PreparedRequest(guarded("http://example.com/"), configuration) }
        #expect(throws: OutboundError.self) { try PreparedRequest(guarded("http://10.0.0.1/"), configuration) }
    }

    @Test(
        "public addresses are public",
        arguments: [
            "1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.167.0.1", "223.255.255.255", "2606:4700::1111", "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
        ])
    func publicAddresses(text: String) throws {
        #expect(try #require(IPAddress(text)).isPublic)
    }
}
