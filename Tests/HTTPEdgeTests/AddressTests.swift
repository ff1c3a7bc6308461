import CoachCore
import Foundation
import HTTPTypes
import NIOCore
import Testing

@testable import HTTPEdge

struct AddressTests {
    private func address(_ text: String) throws -> NetworkAddress { try #require(NetworkAddress(text)) }

    @Test("a network contains its addresses, in both forms of IPv4, and no others")
    func networks() throws {
        for (network, inside, outside) in [
            ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"], ["11.0.0.0", "9.255.255.255", "::10.0.0.1"]),
            ("192.0.2.7", ["192.0.2.7"], ["192.0.2.6", "::"]), ("0.0.0.0/0", ["1.2.3.4"], ["::1"]),
            ("2001:db8::/33", ["2001:db8:7fff::1"], ["2001:db8:8000::1"]), ("::1", ["::1"], ["::2", "127.0.0.1"]),
            ("2001:db8::/127", ["2001:db8::", "2001:db8::1"], ["2001:db8::2"]), ("::/0", ["::1", "1.2.3.4"], []),
        ] as [(String, [String], [String])] {
            let block = try #require(AddressBlock(network))
            for text in inside { #expect(block.contains(try address(text)), "\(text) in \(network)") }
            for text in outside { #expect(!block.contains(try address(text)), "\(text) not in \(network)") }
        }
        for text in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "proxy", "10.0.0", "::1/129", "10.0.0.0/8/8"] {
            #expect(AddressBlock(text) == nil, "\(text)")
        }
    }

    @Test("one subscriber is an IPv4 address, or a /64 of IPv6")
    func subscribers() throws {
        #expect(try address("2001:db8:0:1::1").subscriber == address("2001:db8:0:1:ffff::9").subscriber)
        #expect(try address("2001:db8:0:1::1").subscriber != address("2001:db8:0:2::1").subscriber)
        #expect(try address("192.0.2.1").subscriber != address("192.0.2.2").subscriber)
        #expect(try address("::ffff:192.0.2.1") == address("192.0.2.1"))
        for text in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] { #expect(try address(text).isLoopback, "\(text)") }
        for text in ["128.0.0.1", "::2", "::7f00:1"] { #expect(try !address(text).isLoopback, "\(text)") }
    }

    @Test(
        "the client is the last hop that is not a trusted proxy",
        arguments: [
            // The headers of an untrusted peer are ignored.
            ("192.0.2.9", ["X-Forwarded-For": "198.51.100.1"], "192.0.2.9"), ("10.0.0.1", [:], "10.0.0.1"),
            ("10.0.0.1", ["X-Forwarded-For": "198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", ["X-Forwarded-For": "1.2.3.4, 198.51.100.1 , 10.0.0.2"], "198.51.100.1"),
            ("10.0.0.1", ["X-Forwarded-For": "10.0.0.3,10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", ["X-Forwarded-For": "198.51.100.1:4711"], "198.51.100.1"),
            ("10.0.0.1", ["X-Forwarded-For": "2001:db8::1"], "2001:db8::1"),
            ("10.0.0.1", ["X-Forwarded-For": "198.51.100.1, rubbish"], "10.0.0.1"),
            ("10.0.0.1", ["X-Forwarded-For": "198.51.100.1, rubbish, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", ["Forwarded": "for=198.51.100.1;proto=https"], "198.51.100.1"),
            ("10.0.0.1", ["Forwarded": "for=198.51.100.1", "X-Forwarded-For": "1.2.3.4"], "10.0.0.1"),
            ("10.0.0.1", ["Forwarded": "for=1.2.3.4, For=\"[2001:db8::2]:47011\" ; by=10.0.0.1"], "2001:db8::2"),
            ("10.0.0.1", ["Forwarded": "by=\"a;b,c=d\";for=\"198.51.100.7:80\""], "198.51.100.7"),
            ("10.0.0.1", ["Forwarded": "for=198.51.100.1, for=unknown"], "10.0.0.1"),
            ("10.0.0.1", ["Forwarded": "for=\"1.2.3.4, for=198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", ["Forwarded": "for=_hidden"], "10.0.0.1"), ("10.0.0.1", ["Forwarded": ",;\"=,for="], "10.0.0.1"),
        ] as [(String, [String: String], String)])
    func forwarded(peer: String, headers: [String: String], client: String) throws {
        let proxies = TrustedProxies([try #require(AddressBlock("10.0.0.0/8"))])
        var fields = HTTPFields()
        for (name, value) in headers { fields[try #require(HTTPField.Name(name))] = value }
        #expect(try proxies.client(peer: address(peer), headers: fields) == address(client))
    }

    @Test("of many hops only those are parsed that are reported by trusted proxies", arguments: ["X-Forwarded-For", "Forwarded"])
    func manyHops(name: String) throws {
        let proxies = TrustedProxies([try #require(AddressBlock("10.0.0.0/8"))])
        let isStandard = name == "Forwarded"
        func fields(_ count: Int) throws -> HTTPFields {
            let hops = Array(repeating: "1.2.3.4", count: count) + ["198.51.100.1", "10.0.0.2"]
            let value = hops.map { isStandard ? "for=\($0)" : $0 }.joined(separator: ",")
            var fields = HTTPFields()
            fields[try #require(HTTPField.Name(name))] = value
            return fields
        }
        func shortestTime(_ headers: HTTPFields, peer: String, client: String) throws -> Duration {
            let (peer, client) = (try address(peer), try address(client))
            let times = (0..<5).map { _ in
                ContinuousClock().measure {
                    for _ in 0..<20 { #expect(proxies.client(peer: peer, headers: headers) == client) }
                }
            }
            return try #require(times.min())
        }
        let (few, many) = (try fields(1), try fields(20_000))
        for (peer, client) in [("10.0.0.1", "198.51.100.1"), ("192.0.2.9", "192.0.2.9")] {
            let short = try shortestTime(few, peer: peer, client: client)
            let long = try shortestTime(many, peer: peer, client: client)
            // Parsed, each of the hops would cost as much as the few.
            #expect(long < short * 100, "\(long), \(short)")
        }
    }

    @Test("a minute's requests may come at once, then one at a time; rejected ones do not count")
    func rate() throws {
        var limiter = AddressLimiter()
        let (one, other, start) = (try address("192.0.2.1"), try address("192.0.2.2"), ContinuousClock.now)
        for _ in 0..<60 { #expect(limiter.take(one, perMinute: 60, now: start) == nil) }
        for _ in 0..<9 { #expect(limiter.take(one, perMinute: 60, now: start) == 1) }
        #expect(limiter.take(other, perMinute: 60, now: start) == nil)
        #expect(limiter.take(one, perMinute: 60, now: start + .milliseconds(999)) == 1)
        #expect(limiter.take(one, perMinute: 60, now: start + .seconds(1)) == nil)
        #expect(limiter.take(one, perMinute: 60, now: start + .seconds(1)) == 1)
        var slow = AddressLimiter()
        #expect(slow.take(one, perMinute: 1, now: start) == nil)
        #expect(slow.take(one, perMinute: 1, now: start) == 60)
    }

    @Test("the number of addresses is bounded, and a new address is never rejected because of others")
    func bound() throws {
        var limiter = AddressLimiter()
        let start = ContinuousClock.now
        func take(_ number: Int, at now: ContinuousClock.Instant) throws -> Int? {
            limiter.take(
                try #require(NetworkAddress(bytes: [11, UInt8(number >> 16), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)])),
                perMinute: 1, now: now)
        }
        for number in 0..<AddressLimiter.maximumAddresses + 1_000 { #expect(try take(number, at: start) == nil) }
        #expect(limiter.busyUntil.count == AddressLimiter.maximumAddresses)
        #expect(try take(1_000_000, at: start + .seconds(61)) == nil)
        #expect(limiter.busyUntil.count == 1, "the others count no more")
    }

    private func parse(_ bytes: [UInt8]) -> ProxyHeader.Result { ProxyHeader.parse(ByteBuffer(bytes: bytes).readableBytesView) }

    @Test("a PROXY protocol header of version 1 is parsed, split at every byte")
    func versionOne() throws {
        for (text, source) in [
            ("PROXY TCP4 198.51.100.1 10.0.0.1 4711 80\r\n", "198.51.100.1"), ("PROXY TCP6 2001:db8::1 ::1 4711 80\r\n", "2001:db8::1"),
            ("PROXY TCP6 ::ffff:203.0.113.5 ::ffff:10.0.0.1 4711 80\r\n", "203.0.113.5"),
            ("PROXY UNKNOWN ffff:f:f ffff::1 65535 65535\r\n", nil), ("PROXY UNKNOWN\r\n", nil),
        ] as [(String, String?)] {
            let bytes = Array(text.utf8)
            let expected = ProxyHeader.Result.header(length: bytes.count, source: source.flatMap { NetworkAddress($0) })
            for count in 0..<bytes.count { #expect(parse(Array(bytes[..<count])) == .incomplete) }
            #expect(parse(bytes + Array("GET / HTTP/1.1\r\n".utf8)) == expected)
        }
        for text in [
            "PROXY TCP4 198.51.100.1\r\n", "PROXY TCP4 2001:db8::1 ::1 1 1\r\n", "PROXY UDP4 1.2.3.4 1.2.3.4 1 1\r\n",
            "PROXY TCP4 x y 1 2\r\n",
            "PROXY UNKNOWN\n", "PROXY UNKNOWN " + String(repeating: "x", count: 100),
        ] {
            #expect(parse(Array(text.utf8)) == .malformed, "\(text)")
        }
        for text in ["GET / HTTP/1.1\r\n", "PROX", "PUT", "PROXIES"] {
            #expect(parse(Array(text.utf8)) == (text == "PROX" ? .incomplete : .absent), "\(text)")
        }
    }

    @Test("a PROXY protocol header of version 2 is parsed, split at every byte")
    func versionTwo() throws {
        let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
        let four: [UInt8] = [198, 51, 100, 1, 10, 0, 0, 1, 0x12, 0x67, 0, 80]
        let six = [UInt8](repeating: 0x20, count: 32) + [0x12, 0x67, 0, 80]
        func header(_ command: UInt8, _ family: UInt8, _ body: [UInt8], length: Int? = nil) -> [UInt8] {
            let length = length ?? body.count
            return signature + [command, family, UInt8(length >> 8), UInt8(length & 0xFF)] + body
        }
        for (bytes, source) in [
            (header(0x21, 0x11, four), NetworkAddress(bytes: Array(four[..<4]))),
            (header(0x21, 0x21, six), NetworkAddress(bytes: Array(six[..<16]))),
            // With an extension; a health check of the proxy itself; a Unix socket.
            (header(0x21, 0x11, four + [4, 0, 1, 0]), NetworkAddress(bytes: Array(four[..<4]))), (header(0x20, 0, []), nil),
            (header(0x21, 0x31, [UInt8](repeating: 0, count: 216)), nil),
        ] {
            for count in 0..<bytes.count { #expect(parse(Array(bytes[..<count])) == .incomplete) }
            #expect(parse(bytes + [0x47]) == .header(length: bytes.count, source: source))
        }
        for bytes in [
            header(0x11, 0x11, four), header(0x22, 0x11, four), header(0x21, 0x11, Array(four[..<8])), header(0x21, 0x21, four),
            header(0x21, 0x11, four, length: 5_000),
        ] {
            #expect(parse(bytes) == .malformed)
        }
    }

    @Test("both families of rate-limit headers are written")
    func headers() {
        var fields = HTTPFields()
        let now = Date(timeIntervalSince1970: 1_000)
        RateLimit(limit: 600, remaining: 599, resetAt: 1_042).write(to: &fields, now: now)
        #expect(fields[.rateLimit] == "600" && fields[.rateRemaining] == "599" && fields[.rateReset] == "1042")
        #expect(fields[.rateLimitPolicy] == #""user";q=600;w=60"# && fields[.rateLimitState] == #""user";r=599;t=42"#)
        RateLimit(limit: 600, remaining: 0, resetAt: 990).write(to: &fields, now: now)
        #expect(fields[.rateLimitState] == #""user";r=0;t=0"#)
    }
}
