import Foundation
import TestSupport

/// A certificate authority of the tests' own, a server's certificate for `localhost`, `a.test` and 127.0.0.1, and a client's.
package enum TestAuthority {
    package static let folder: URL = {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "outbound-http-authority-\(ProcessInfo.processInfo.processIdentifier)")
        do { try make(in: folder) } catch { fatalError("no test authority: \(error)") }
        return folder
    }()

    package static var authority: String { file("ca.pem") }
    package static var serverCertificate: String { file("server.pem") }
    package static var serverKey: String { file("server.key") }
    package static func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file(name)))) }
    package static func file(_ name: String) -> String { folder.appending(path: name).path }

    private static func make(in folder: URL) throws {
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        func path(_ name: String) -> String { folder.appending(path: name).path }
        func openssl(_ arguments: String...) throws { _ = try ChildProcess.run(["openssl"] + arguments) }
        func request(_ name: String, _ more: String...) throws {
            _ = try ChildProcess.run(
                ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path("\(name).key")]
                    + more)
        }
        try request("ca", "-x509", "-out", path("ca.pem"), "-days", "2", "-subj", "/CN=Test authority")
        for (name, extensions) in [
            ("server", "subjectAltName=DNS:localhost,DNS:a.test,IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth"),
        ] {
            try extensions.write(to: folder.appending(path: "\(name).ext"), atomically: true, encoding: .utf8)
            try request(name, "-out", path("\(name).csr"), "-subj", "/CN=\(name)")
            try openssl(
                "x509", "-req", "-in", path("\(name).csr"), "-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-CAcreateserial", "-days",
                "2",
                "-out", path("\(name).pem"), "-extfile", path("\(name).ext"))
        }
    }
}
