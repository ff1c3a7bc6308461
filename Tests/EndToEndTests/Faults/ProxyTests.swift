import Foundation
import Glibc
import Testing

/// HAProxy with the file that operators are given, in front of two gateways.
private final class Proxy: Sendable {
    static let program = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"].first(where: FileManager.default.isExecutableFile)

    let port: Int
    private let process: Program
    private let folder: StateFolder

    init(_ pair: Pair) async throws {
        folder = try StateFolder()
        // The proxy tells nobody which port the system gave it: one that was free a moment ago.
        port = try Wire.freePort()
        // A shell that ends it when its folder is gone, or this process.
        let life = "\(folder.path)/proxy"
        try Data().write(to: URL(fileURLWithPath: life))
        let script = """
            \(Self.program ?? "haproxy") -db -f '\(Program.root.path)/deploy/proxy/haproxy.cfg' & proxy=$!
            while [ -e '\(life)' ] && kill -0 \(getpid()) 2>/dev/null; do sleep 0.2; done
            kill $proxy
            """
        process = try Program(
            ["-c", script],
            environment: [
                "COACH_PROXY_LISTEN": "127.0.0.1:\(port)", "COACH_GATEWAY_A": "127.0.0.1:\(pair.one.port)",
                "COACH_GATEWAY_B": "127.0.0.1:\(pair.other.port)",
            ], executable: URL(fileURLWithPath: "/bin/sh"))
        let port = port
        try await eventually("the proxy\n\(process.output)") {
            (try? await Browser(port: port).send("GET", "/readyz").status) == 200
        }
    }

    /// Ends the proxy.
    func end() async throws {
        try FileManager.default.removeItem(atPath: "\(folder.path)/proxy")
        try await process.exit()
    }
}

extension Wire {
    /// A port that nobody listens on now.
    fileprivate static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw Failure(description: "no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

@Suite("Behind HAProxy with the file that is shipped", .paced, .enabled(if: Proxy.program != nil, "HAProxy is not installed"))
struct ProxyTests {
    @Test("every token leaves as it comes, and a line that is lost goes on, on the other instance too")
    func streams() async throws {
        let pair = try await Pair.shared()
        let proxy = try await Proxy(pair)
        let visitor = pair.one.visitor().at(proxy.port)
        let first = try await visitor.listen("Hello \(sim(["words": 60, "pace_ms": 50]))").until(bytes: 80)
        // Not in bursts: the tokens so far came over at least as long as they took to be spoken, less what a busy machine packs together.
        let span = try #require(first.arrivals.first).at.duration(to: try #require(first.arrivals.last).at)
        #expect(first.arrivals.count >= 5 && span > .milliseconds(300), "\(first.arrivals.count) pieces in \(span)")
        first.hangUp()
        var served: Set<String> = []
        var rests: [Listening] = []
        for _ in 0..<2 {
            let rest = try await visitor.follow(first.turnID, after: first.position)
            served.insert(rest.headers["x-served-by"] ?? "")
            rests.append(rest)
        }
        for rest in rests { try await rest.toEnd() }
        #expect(served == ["a", "b"])
        for rest in rests { #expect(rest.end?["finish_reason"] == "stop" && (first.text + rest.text).split(separator: " ").count == 60) }
        try await proxy.end()
    }
}
