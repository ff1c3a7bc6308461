import Foundation
import TestSupport

/// nginx with TLS and HTTP/2 before `origin.py`: libcurl cannot be made to speak HTTP/2 with anything simpler.
package final class NginxServer: Sendable {
    package let origin: TestServer
    package let port: Int
    private let folder: URL

    package static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/sbin/nginx")

    package init() throws {
        origin = try TestServer("origin")
        folder = FileManager.default.temporaryDirectory.appending(path: "outbound-http-nginx-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // nginx cannot choose a free port by itself: one that the system has just given away is tried, and another when it was taken meanwhile.
        var found: Int?
        for _ in 0..<20 where found == nil {
            let port = try Self.freePort()
            try Self.configuration(port: port, origin: origin.port, folder: folder).write(
                to: folder.appending(path: "nginx.conf"), atomically: true, encoding: .utf8)
            found = Self.start(folder) ? port : nil
        }
        guard let found else { throw ChildProcess.Failure(description: "nginx did not start") }
        port = found
    }

    deinit {
        if let text = try? String(contentsOf: folder.appending(path: "nginx.pid"), encoding: .utf8),
            let identifier = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
        {
            kill(identifier, SIGTERM)
        }
        try? FileManager.default.removeItem(at: folder)
    }

    package func url(_ path: String) -> String { "https://localhost:\(port)\(path)" }

    /// nginx goes to the background when it listens, and fails when it cannot.
    private static func start(_ folder: URL) -> Bool {
        func path(_ name: String) -> String { folder.appending(path: name).path }
        return (try? ChildProcess.run(["nginx", "-p", folder.path, "-c", path("nginx.conf"), "-e", path("error.log")])) != nil
    }

    private static func configuration(port: Int, origin: Int, folder: URL) -> String {
        """
        pid \(folder.path)/nginx.pid;
        error_log \(folder.path)/error.log;
        worker_processes 1;
        events { worker_connections 1024; }
        http {
          access_log \(folder.path)/access.log;
          client_body_temp_path \(folder.path); proxy_temp_path \(folder.path); fastcgi_temp_path \(folder.path);
          uwsgi_temp_path \(folder.path); scgi_temp_path \(folder.path);
          server {
            listen 127.0.0.1:\(port) ssl http2;
            ssl_certificate \(TestAuthority.serverCertificate);
            ssl_certificate_key \(TestAuthority.serverKey);
            ssl_session_cache shared:sessions:1m;
            location / {
              proxy_pass http://127.0.0.1:\(origin);
              proxy_http_version 1.1;
              proxy_buffering off;
              proxy_set_header Connection "";
              add_header X-Served-Over $server_protocol;
              add_header X-Connection $connection;
              add_header X-Session-Reused $ssl_session_reused;
            }
          }
        }
        """
    }

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: the pointers live for the calls, and the sizes are the structure's own.
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
