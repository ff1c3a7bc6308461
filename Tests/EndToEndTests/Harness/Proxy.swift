import Foundation
import Glibc
import TestSupport

/// A reverse proxy with the shipped configuration file, in front of two gateways.
final class Proxy: Sendable {
    enum Kind: String, Sendable, CaseIterable {
        case haproxy, nginx

        /// Nil when it is not installed.
        var program: String? {
            ["/usr/sbin/\(rawValue)", "/usr/local/sbin/\(rawValue)"].first(where: FileManager.default.isExecutableFile)
        }
    }

    let port: Int
    private let process: Program
    private let folder: StateFolder

    init(_ kind: Kind, before pair: Pair) async throws {
        folder = try StateFolder()
        // A port that was just free, because the proxy does not report the port that the system chooses.
        port = try ThrowawayCluster.freePort()
        let command =
            switch kind {
            case .haproxy: "\(kind.program ?? "") -db -f '\(Program.root.path)/deploy/proxy/haproxy.cfg'"
            case .nginx: try Self.nginx(kind.program ?? "", in: folder.path, port: port, pair)
            }
        // A shell that ends it when its folder is removed or this process ends.
        let life = "\(folder.path)/proxy"
        try Data().write(to: URL(fileURLWithPath: life))
        let script = """
            \(command) & proxy=$!
            while [ -e '\(life)' ] && kill -0 \(getpid()) 2>/dev/null; do sleep 0.2; done
            kill $proxy
            """
        process = try Program(
            ["-c", script],
            environment: [
                "COACH_PROXY_LISTEN": "127.0.0.1:\(port)", "COACH_GATEWAY_A": "127.0.0.1:\(pair.one.port)",
                "COACH_GATEWAY_B": "127.0.0.1:\(pair.other.port)",
            ], executable: URL(fileURLWithPath: "/bin/sh"))
        let (port, process) = (port, process)
        try await eventually("the proxy\n\(process.output)") {
            (try? await Browser(port: port).send("GET", "/readyz").status) == 200
        }
    }

    /// Ends the proxy.
    func end() async throws {
        try FileManager.default.removeItem(atPath: "\(folder.path)/proxy")
        try await process.exit()
    }

    /// nginx reads no environment variables, so its file is copied with other addresses and writable folders.
    private static func nginx(_ program: String, in folder: String, port: Int, _ pair: Pair) throws -> String {
        let shipped = try String(contentsOfFile: "\(Program.root.path)/deploy/proxy/nginx.conf", encoding: .utf8)
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: " ")
        let own = shipped.replacing("127.0.0.1:8080", with: "127.0.0.1:\(pair.one.port)")
            .replacing("127.0.0.1:8081", with: "127.0.0.1:\(pair.other.port)").replacing("127.0.0.1:8443", with: "127.0.0.1:\(port)")
            .replacing("http {", with: "http { access_log off; \(folders)")
        try Data(own.utf8).write(to: URL(fileURLWithPath: "\(folder)/nginx.conf"))
        // Workers run as another user and need access to their folders.
        chmod(folder, 0o755)
        return "\(program) -p '\(folder)' -c '\(folder)/nginx.conf' -e stderr -g 'daemon off; pid \(folder)/nginx.pid;'"
    }
}
