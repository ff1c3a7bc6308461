import JSON
import Testing

@Suite("PercentEncoding")
struct PercentEncodingTests {
    @Test("all but unreserved characters are bytes of UTF-8 in upper-case digits")
    func encode() {
        #expect(PercentEncoding.encode("azAZ09-._~") == "azAZ09-._~")
        #expect(PercentEncoding.encode("a b/ü:%\u{0}") == "a%20b%2F%C3%BC%3A%25%00")
        #expect(PercentEncoding.encode("").isEmpty)
    }
}
