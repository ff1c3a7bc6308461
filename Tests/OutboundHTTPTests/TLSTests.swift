import Foundation
import HTTPTestServers
import OutboundHTTP
import Testing

@Suite("TLS and HTTP/2")
struct TLSTests {
    @Test("a server is accepted only if its authority is trusted")
    func trust() async throws {
        let server = try TestServer("origin", "--cert", TestAuthority.serverCertificate, "--key", TestAuthority.serverKey)
        let client = try OutboundHTTPClient()
        #expect(try await client.send(.secure(server.url("/hello", scheme: "https"))).status == 200)
        let error = try await client.error(of: OutboundRequest(url: server.url("/hello", scheme: "https")).limited())
        #expect(error.code == .tls)
        // X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
        #expect(error.cause == .certificate(20))
    }

    @Test("a certificate for another name is rejected")
    func name() async throws {
        let server = try TestServer("origin", "--cert", TestAuthority.serverCertificate, "--key", TestAuthority.serverKey)
        let client = try OutboundHTTPClient { _ in .success(["127.0.0.1"]) }
        #expect(try await client.send(.secure(server.url("/hello", scheme: "https", host: "a.test"))).status == 200)
        #expect(try await client.error(of: .secure(server.url("/hello", scheme: "https", host: "other.example"))).code == .tls)
    }

    @Test("a missing authority file ends with invalid_request")
    func missingAuthority() async throws {
        let client = try OutboundHTTPClient()
        var request = OutboundRequest(url: "https://127.0.0.1:1/")
        request.authorityFile = "/nonexistent.pem"
        let server = try TestServer("origin", "--cert", TestAuthority.serverCertificate, "--key", TestAuthority.serverKey)
        request.url = server.url("/", scheme: "https")
        #expect(try await client.error(of: request).code == .invalidRequest)
    }

    @Test("a client certificate is sent, and a connection with one is not reused for requests without it")
    func clientCertificate() async throws {
        let server = try TestServer(
            "origin", "--cert", TestAuthority.serverCertificate, "--key", TestAuthority.serverKey, "--client-ca", TestAuthority.authority)
        let client = try OutboundHTTPClient()
        let anonymous = OutboundRequest.secure(server.url("/hello", scheme: "https"))
        var known = anonymous
        known.certificate = ClientCertificate(chain: try TestAuthority.bytes("client.pem"), key: try TestAuthority.bytes("client.key"))
        #expect(try await client.send(known).status == 200)
        let error = try await client.error(of: anonymous)
        #expect([.unanswered, .tls].contains(error.code))
        #expect(try await client.send(known).status == 200)
        known.certificate?.key = Array("no key".utf8)
        #expect(try await OutboundHTTPClient().error(of: known).code == .invalidRequest)
    }

    @Test("HTTP/2 is used when requested, and several streams share a connection", .enabled(if: NginxServer.isInstalled))
    func http2() async throws {
        let nginx = try NginxServer()
        let client = try OutboundHTTPClient(OutboundConfiguration { $0.connectionsPerHost = 1 })
        let responses = try await withThrowingTaskGroup(of: OutboundResponse.self) { group in
            for _ in 0..<20 { group.addTask { try await client.send(.secure(nginx.url("/bytes?1000"), version: .http2)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.allSatisfy { $0.head["x-served-over"] == "HTTP/2.0" && $0.body.count == 1000 })
        #expect(Set(responses.map { $0.head["x-connection"] }).count == 1)
        #expect(try await client.send(.secure(nginx.url("/hello"))).head["x-served-over"] == "HTTP/1.1")
    }

    @Test("interim responses, trailers and limits work the same over HTTP/2", .enabled(if: NginxServer.isInstalled))
    func http2Limits() async throws {
        let nginx = try NginxServer()
        let client = try OutboundHTTPClient()
        let response = try await client.send(.secure(nginx.url("/status/404"), version: .http2))
        #expect(response.status == 404 && response.body == Array("status".utf8))
        let error = try await client.error(of: .secure(nginx.url("/endless"), version: .http2).limited(responseBytes: 100_000))
        #expect(error.code == .responseTooLarge)
        let late = try await client.error(of: .secure(nginx.url("/hang"), version: .http2).limited(total: .milliseconds(300)))
        #expect(late.code == .timeout)
    }

    @Test("a new connection resumes the TLS session", .enabled(if: NginxServer.isInstalled))
    func resumption() async throws {
        let nginx = try NginxServer()
        let client = try OutboundHTTPClient()
        var request = OutboundRequest.secure(nginx.url("/hello"))
        request.method = .post
        #expect(try await client.send(request).head["x-session-reused"] == ".")
        #expect(try await client.send(request).head["x-session-reused"] == "r")
    }
}
