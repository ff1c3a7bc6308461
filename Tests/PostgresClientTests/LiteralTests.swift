import Testing

@testable import PostgresClient

@Suite struct LiteralTests {
    @Test(
        "arrays are encoded and decoded unchanged",
        arguments: [[], ["a"], [nil], ["NULL", "null", "", " ", "a,b", "{}", "\"", "\\", "ü\u{1F468}"], ["a", nil, "b"]] as [[String?]])
    func arrays(elements: [String?]) {
        let text = ArrayLiteral.encode(elements.map { $0.map(QueryParameter.text) ?? .null })
        #expect(ArrayLiteral.decode(text) == elements)
    }

    @Test(
        "a text that is not a one-dimensional array is rejected",
        arguments: ["", "{", "}", "{a", "{a,", "{{a},{b}}", "a", "{}x", "{\"a", "{\"a\\", "{\"a\"x}"])
    func noArray(text: String) {
        #expect(ArrayLiteral.decode(text) == nil)
    }

    @Test("arrays in the server's own form are decoded")
    func unquoted() {
        #expect(ArrayLiteral.decode("{1,NULL,\"NULL\",a b}") == ["1", nil, "NULL", "a b"])
    }

    @Test("bytes are encoded and decoded unchanged, and other texts are rejected")
    func bytes() {
        func decode(_ text: String) -> [UInt8]? { Array(text.utf8).withUnsafeBytes(HexLiteral.decode) }
        let all = Array(UInt8.min...UInt8.max)
        #expect(decode(HexLiteral.encode(all)) == all)
        #expect(decode("\\x") == [])
        for text in ["", "\\", "\\x0", "\\xzz", "00ff", "\\y00"] { #expect(decode(text) == nil) }
    }
}
