import Foundation
import TestSupport

/// A test's server process, on a free port of 127.0.0.1. It is killed when the object is released, and ends with the tests.
package final class TestServer: Sendable {
    package let port: Int
    private let process: ChildProcess

    /// A script of `Servers`, which prints its port first.
    package convenience init(_ script: String, _ arguments: String...) throws { try self.init(script, arguments: arguments) }

    /// The same with a list of arguments.
    package init(_ script: String, arguments: [String]) throws {
        let servers = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Servers")
        let paths = ["run", script].map { servers.appending(path: "\($0).py").path }
        process = try ChildProcess(["python3", "-B"] + paths + arguments, input: .pipe, output: .pipe)
        guard let port = Int(process.line()) else { throw ChildProcess.Failure(description: "\(script) did not print its port") }
        self.port = port
    }

    deinit {
        process.kill()
    }

    /// The next line that the server prints. Blocks.
    package func line() -> String { process.line() }

    /// Stops it, so that requests wait, or lets it go on.
    package func pause(_ isPaused: Bool) { process.signal(isPaused ? SIGSTOP : SIGCONT) }

    package func url(_ path: String, scheme: String = "http", host: String = "127.0.0.1") -> String { "\(scheme)://\(host):\(port)\(path)" }
}

/// What `origin.py` has recorded.
package struct OriginJournal: Decodable {
    package var requests: [String]
    /// Nanoseconds of the system's monotonic clock at which the server found that the client of a stream had disconnected.
    package var stream_ends: [UInt64]
    package var connections: Int
}

/// The response of `/echo`.
package struct Echo: Decodable {
    package var method: String
    package var headers: [[String]]
    package var body: String

    package subscript(name: String) -> String? { headers.first { $0.first == name }?.last }
}

/// What `http_proxy.py` has recorded.
package struct ProxyJournal: Decodable {
    package var requests: [String]
    package var headers: [[String: String]]
    /// Kinds of NTLM messages.
    package var ntlm: [Int]
}
