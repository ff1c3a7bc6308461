import Testing

@testable import PostgresClient

@Suite struct LiteralTests {
    @Test(
        "arrays survive their text form",
        arguments: [[], ["a"], [nil], ["NULL", "null", "", " ", "a,b", "{}", "\"", "\\", "ü\u{1F468}"], ["a", nil, "b"]] as [[String?]])
    func arrays(elements: [String?]) {
        let text = ArrayLiteral.encode(elements.map { $0.map(QueryParameter.text) ?? .null })
        #expect(ArrayLiteral.decode(text) == elements)
    }

    @Test(
        "what is no one-dimensional array is none",
        arguments: ["", "{", "}", "{a", "{a,", "{{a},{b}}", "a", "{}x", "{\"a", "{\"a\\", "{\"a\"x}"])
    func noArray(text: String) {
        #expect(ArrayLiteral.decode(text) == nil)
    }

    @Test("the server's own arrays are understood")
    func unquoted() {
        #expect(ArrayLiteral.decode("{1,NULL,\"NULL\",a b}") == ["1", nil, "NULL", "a b"])
    }

    @Test("bytes survive their text form, and other texts are no bytes")
    func bytes() {
        func decode(_ text: String) -> [UInt8]? { Array(text.utf8).withUnsafeBytes(HexLiteral.decode) }
        let all = Array(UInt8.min...UInt8.max)
        #expect(decode(HexLiteral.encode(all)) == all)
        #expect(decode("\\x") == [])
        for text in ["", "\\", "\\x0", "\\xzz", "00ff", "\\y00"] { #expect(decode(text) == nil) }
    }
}

@Suite struct HostListTests {
    @Test("only names are looked up: not addresses, not sockets, not libpq's default")
    func lookup() {
        #expect(HostList(hosts: "db.example", addresses: "", ports: "").needsLookup)
        #expect(HostList(hosts: "a,b", addresses: "127.0.0.1,", ports: "").needsLookup)
        for list in [
            HostList(hosts: "", addresses: "", ports: "5432"), HostList(hosts: "/tmp", addresses: "", ports: ""),
            HostList(hosts: "@abstract", addresses: "", ports: ""), HostList(hosts: "a", addresses: "127.0.0.1", ports: ""),
            HostList(hosts: "", addresses: "127.0.0.1,::1", ports: ""),
        ] { #expect(!list.needsLookup) }
    }

    @Test("each address of a name becomes an entry with its name and port")
    func resolved() {
        let list = HostList(hosts: "/tmp,localhost", addresses: "", ports: "1,2").resolved()
        #expect(list?.entries.first == .init(host: "/tmp", address: nil, port: "1"))
        #expect(list?.entries.contains(.init(host: "localhost", address: "127.0.0.1", port: "2")) == true)
    }

    @Test("one port is the port of all hosts")
    func onePort() {
        #expect(HostList(hosts: "/a,/b", addresses: "", ports: "7").ports == "7,7")
    }
}
