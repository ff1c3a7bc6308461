import Foundation
import HTTPEdge

/// Where to listen.
struct ListenAddress: Sendable, Equatable {
    var host: String
    var port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]), (0...65535).contains(port) else {
            return nil
        }
        let host = text[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        guard Self.isHost(host) else { return nil }
        self.init(host: host, port: port)
    }

    /// Whether a text is an IP address or may be the name of a host (RFC 1123 §2.1): one whose last label is a number would be a malformed
    /// address.
    static func isHost(_ text: String) -> Bool {
        if NetworkAddress(text) != nil { return true }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= 253 && labels.last.map { Int($0) == nil } == true
            && labels.allSatisfy { $0.wholeMatch(of: /[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?/) != nil }
    }
}
