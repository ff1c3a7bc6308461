import Glibc

/// An entry of `no_proxy`: `*`, a name with all below it, an address, a network (`10.0.0.0/8`), each but the first and last perhaps with a port. Pure.
struct ProxyException: Equatable {
    private enum Place: Equatable {
        case everything
        case name(String)
        case network(NumericAddress, bits: Int)
    }

    private let place: Place
    private let port: UInt16?

    /// nil: not such an entry.
    init?(_ text: String) {
        if text == "*" {
            (place, port) = (.everything, nil)
            return
        }
        if let slash = text.firstIndex(of: "/") {
            let address = NumericAddress(String(text[..<slash]))
            guard let address, let bits = Int(text[text.index(after: slash)...]), (0...address.bytes.count * 8).contains(bits) else {
                return nil
            }
            (place, port) = (.network(address, bits: bits), nil)
            return
        }
        if let address = NumericAddress(text) {
            (place, port) = (.network(address, bits: address.bytes.count * 8), nil)
            return
        }
        guard let (host, number) = TransferAddress.split(text[...]), !host.isEmpty else { return nil }
        if let number {
            guard let value = UInt16(number), value > 0 else { return nil }
            port = value
        } else {
            port = nil
        }
        if let address = NumericAddress(host) {
            place = .network(address, bits: address.bytes.count * 8)
            return
        }
        let name = host.hasPrefix("*.") ? host.dropFirst(2) : host.hasPrefix(".") ? host.dropFirst() : host[...]
        let isName = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "-._".utf8.contains(byte)
            }
        }
        guard !name.isEmpty, isName else { return nil }
        place = .name(String(name))
    }

    func covers(_ origin: Origin) -> Bool {
        guard port == nil || port == origin.port else { return false }
        switch place {
        case .everything: return true
        case .name(let name): return origin.host == name || origin.host.hasSuffix(".\(name)")
        // A name that leads there is not covered: whether it does is known too late, and to whom it is known differs.
        case .network(let network, let bits): return NumericAddress(origin.host)?.isInside(network, bits: bits) ?? false
        }
    }
}

/// An IPv4 or IPv6 address as its bytes.
struct NumericAddress: Equatable {
    let bytes: [UInt8]

    /// nil for anything but an address without brackets.
    init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: &four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            bytes = withUnsafeBytes(of: &six) { Array($0) }
        } else {
            return nil
        }
    }

    func isInside(_ network: NumericAddress, bits: Int) -> Bool {
        guard bytes.count == network.bytes.count else { return false }
        return zip(bytes, network.bytes).enumerated().allSatisfy { index, pair in
            let left = min(max(bits - index * 8, 0), 8)
            return (pair.0 ^ pair.1) >> (8 - UInt8(left)) == 0
        }
    }
}
