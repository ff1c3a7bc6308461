import Foundation
import TestSupport
import Testing

/// A server of a test, on a free port of 127.0.0.1; killed with the object.
final class TestServer: Sendable {
    let port: Int
    private let process: ChildProcess

    /// A script of `Servers`, which prints its port first.
    init(_ script: String, _ arguments: String...) throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Servers/\(script).py").path
        process = try ChildProcess(["python3", "-B", path] + arguments, output: .pipe)
        port = try #require(Int(process.line()), "\(script) did not print its port")
    }

    deinit {
        process.kill()
    }

    /// The next line that the server prints. Blocks.
    func line() -> String { process.line() }

    func url(_ path: String, scheme: String = "http", host: String = "127.0.0.1") -> String { "\(scheme)://\(host):\(port)\(path)" }
}

/// What `origin.py` has seen.
struct OriginJournal: Decodable {
    var requests: [String]
    /// Nanoseconds of the system's monotonic clock at which the reader of a stream was seen to have left.
    var stream_ends: [UInt64]
    var connections: Int
}

/// What `/echo` answers.
struct Echo: Decodable {
    var method: String
    var headers: [[String]]
    var body: String

    subscript(name: String) -> String? { headers.first { $0.first == name }?.last }
}

/// What `http_proxy.py` has seen.
struct ProxyJournal: Decodable {
    var requests: [String]
    var headers: [[String: String]]
    /// Kinds of NTLM messages.
    var ntlm: [Int]
}
