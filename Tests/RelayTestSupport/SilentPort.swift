import Foundation
import Glibc

/// A port whose host seems to be out of reach: with a full accept queue the kernel drops further handshakes.
package final class SilentPort {
    package let number: Int
    private let descriptors: [Int32]

    package init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        func with<Result>(_ body: (UnsafeMutablePointer<sockaddr>) -> Result) -> Result {
            withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
        }
        let isListening = with { bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0 } && listen(listener, 0) == 0
        guard isListening else { throw POSIXError(.EADDRINUSE) }
        number = Int(UInt16(bigEndian: address.sin_port))
        let clients = (0..<4).map { _ in
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            _ = with { connect(client, $0, length) }
            return client
        }
        descriptors = clients + [listener]
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
