import Foundation
import TestSupport

/// A TLS server (`openssl s_server`) with a new self-signed certificate for 127.0.0.1.
package final class TLSServer: Sendable {
    package let port: Int
    /// The self-signed certificate, which is its own authority.
    package let certificate: String
    private let process: ChildProcess
    private let folder: URL

    package static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    /// - Parameters:
    ///   - options: more for `openssl s_server`.
    ///   - mode: `-www` answers with a page about the connection, `-WWW` with the file that is asked for.
    ///   - file: a file of zeros to be asked for.
    package init(_ options: [String] = [], mode: String = "-www", file: (name: String, size: UInt64)? = nil) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        certificate = folder.appending(path: "cert.pem").path
        let key = folder.appending(path: "key.pem").path
        try ChildProcess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
            certificate, "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
        ])
        if let file {
            let url = folder.appending(path: file.name)
            try Data().write(to: url)
            try FileHandle(forWritingTo: url).truncate(atOffset: file.size)
        }
        process = try ChildProcess(
            ["openssl", "s_server", "-4", "-accept", "0", "-cert", certificate, "-key", key, mode] + options, directory: folder.path,
            output: .pipe)
        // Prints "ACCEPT 0.0.0.0:35555" when it listens.
        var found: Int?
        while found == nil, case let line = process.line(), !line.isEmpty || process.isRunning {
            found = line.split(separator: ":").last.flatMap { Int($0) }
        }
        guard let found else { throw ChildProcess.Failure(description: "openssl s_server does not listen") }
        port = found
    }

    deinit {
        process.kill()
        try? FileManager.default.removeItem(at: folder)
    }
}
