import Glibc

/// Host name lookup by the system's resolver (`getaddrinfo`). `addresses(of:)` blocks: call it on a helper thread only.
public enum NameLookup {
    /// Why a name has no address.
    public struct Failure: Error, Sendable {
        /// The resolver's `EAI_…`; 0 when it was not called.
        public let code: Int32

        public init(code: Int32) { self.code = code }
    }

    /// Whether a host is a numeric IPv4 or IPv6 address. Does not block.
    public static func isAddress(_ host: String) -> Bool {
        var four = in_addr()
        var six = in6_addr()
        return inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
    }

    /// The numeric addresses of a name, in the order of RFC 6724, at least one.
    public static func addresses(of name: String) -> Result<[String], Failure> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else { return .failure(Failure(code: code)) }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var next = list
        while let entry = next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let code = getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            if code == 0 {
                let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                if !found.contains(address) { found.append(address) }
            }
            next = entry.pointee.ai_next
        }
        return found.isEmpty ? .failure(Failure(code: EAI_NONAME)) : .success(found)
    }
}

extension Result where Success == [String] {
    /// The addresses; empty when the lookup failed.
    public var found: [String] { (try? get()) ?? [] }
}
