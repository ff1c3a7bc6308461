import NIOCore

/// An IPv4 or IPv6 address as 128 bits. IPv4 is stored as IPv4-mapped IPv6 (RFC 4291 §2.5.5.2), so that both forms are equal.
public struct NetworkAddress: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    private static let mapped: UInt64 = 0xFFFF_0000_0000

    /// 4 or 16 bytes in network order; nil for another number.
    init?(bytes: some Collection<UInt8>) {
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        switch bytes.count {
        case 4: (high, low) = (0, Self.mapped | number(bytes))
        case 16: (high, low) = (number(bytes.prefix(8)), number(bytes.dropFirst(8)))
        default: return nil
        }
    }

    /// Nil for the address of a Unix socket.
    init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address): self.init(bytes: withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address): self.init(bytes: withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: return nil
        }
    }

    /// From the text form, without brackets, zone or port; nil for anything else.
    public init?(_ text: some StringProtocol) {
        guard let address = try? SocketAddress(ipAddress: String(text), port: 0) else { return nil }
        self.init(address)
    }

    var isIPv4: Bool { high == 0 && low >> 32 == Self.mapped >> 32 }

    var isLoopback: Bool { isIPv4 ? low & 0xFF00_0000 == 0x7F00_0000 : high == 0 && low == 1 }

    /// The unit of limits: what one internet subscriber has. An IPv4 address, or the /64 network of an IPv6 address, the smallest that a
    /// site gets (RFC 6177 §2).
    var subscriber: NetworkAddress { isIPv4 ? self : masked(64) }

    /// The first `bits` of 128.
    fileprivate func masked(_ bits: Int) -> NetworkAddress {
        func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? .max : ~(.max >> UInt64(bits)) }
        return NetworkAddress(high: high & mask(bits), low: low & mask(bits - 64))
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// A network in CIDR notation.
public struct AddressBlock: Hashable, Sendable {
    private let base: NetworkAddress
    /// The prefix length, of 128 bits.
    private let bits: Int

    /// From `10.0.0.0/8`, `fd00::/8`, or one address; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = NetworkAddress(first) else { return nil }
        let width = address.isIPv4 && !first.contains(":") ? 32 : 128
        guard parts.count == 1 || parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        guard let length = parts.count == 1 ? width : Int(parts[1]), (0...width).contains(length) else { return nil }
        bits = 128 - width + length
        base = address.masked(bits)
    }

    func contains(_ address: NetworkAddress) -> Bool { address.masked(bits) == base }
}
