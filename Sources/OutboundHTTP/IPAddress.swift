import Glibc

/// An IPv4 or IPv6 address as its bytes in network order. Pure.
struct IPAddress: Hashable {
    /// 4 or 16.
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// From the text form, without brackets or zone; nil for anything else.
    init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            bytes = withUnsafeBytes(of: six) { Array($0) }
        } else {
            return nil
        }
    }

    /// From a socket address of family `AF_INET` or `AF_INET6`; nil for another family.
    // SAFETY: the pointer is read during the call, as the structure that `sa_family` names.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            bytes = UnsafeRawPointer(address).withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            bytes = UnsafeRawPointer(address).withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) }
            }
        default: return nil
        }
    }

    /// Whether the address is `127.0.0.0/8`, `::1` or a zero address: all of them reach this machine.
    var isLoopback: Bool { Self.loopback.contains { $0.contains(embedded ?? self) } }

    /// The IPv4 address in an IPv4-mapped (RFC 4291 §2.5.5.2) or NAT64 (RFC 6052) IPv6 address; nil for other addresses.
    var embedded: IPAddress? {
        Self.embedding.contains { $0.contains(self) } ? IPAddress(bytes: Array(bytes.suffix(4))) : nil
    }

    /// Whether the address is of the public internet: not in the special-purpose registries (RFC 6890).
    var isPublic: Bool {
        if let embedded { return embedded.isPublic }
        if bytes.count == 4 { return !Self.specialIPv4.contains { $0.contains(self) } }
        return Self.globalUnicast.contains(self) && !Self.specialIPv6.contains { $0.contains(self) }
    }

    private static let loopback = networks("127.0.0.0/8", "0.0.0.0/32", "::1/128", "::/128")
    private static let embedding = networks("::ffff:0:0/96", "64:ff9b::/96")
    private static let globalUnicast = IPNetwork(IPAddress(bytes: [0x20] + [UInt8](repeating: 0, count: 15)), bits: 3)
    /// IANA's IPv4 special-purpose registry, multicast and the reserved class.
    private static let specialIPv4 = networks(
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4")
    /// IANA's IPv6 special-purpose registry inside 2000::/3. Teredo (2001::/32) and 6to4 (2002::/16) carry IPv4 addresses.
    private static let specialIPv6 = networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

    private static func networks(_ texts: String...) -> [IPNetwork] { texts.compactMap(IPNetwork.init) }
}

/// A network in CIDR form: the addresses with the same first `bits` bits.
struct IPNetwork: Sendable {
    private let prefix: [UInt8]
    private let bits: Int

    init(_ address: IPAddress, bits: Int) {
        prefix = address.bytes
        self.bits = bits
    }

    /// From an address, or an address, a slash and a number of bits (RFC 4632 §3.1); nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
        let all = address.bytes.count * 8
        let bits = parts.count == 1 ? all : Int(parts[1]) ?? -1
        guard (0...all).contains(bits) else { return nil }
        self.init(address, bits: bits)
    }

    func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == prefix.count else { return false }
        let whole = bits / 8
        guard address.bytes[..<whole] == prefix[..<whole] else { return false }
        let rest = bits % 8
        return rest == 0 || (address.bytes[whole] ^ prefix[whole]) >> UInt8(8 - rest) == 0
    }
}
