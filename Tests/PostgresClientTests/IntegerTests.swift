import PostgresClient
import Testing

@Suite("Integers of columns")
struct IntegerTests {
    private func decode<Value: ColumnValue>(_ text: String?, as type: Value.Type = Value.self) -> Value? {
        guard let text else { return Value(column: nil) }
        return Array(text.utf8).withUnsafeBytes { Value(column: $0) }
    }

    @Test("have every value of their type, to its ends")
    func values() {
        for number in [0, 1, -1, 10, -9_876_543_210, .min, .min + 1, .max] as [Int64] { #expect(decode("\(number)") == number) }
        #expect(decode("-0") == 0 as Int64 && decode("007") == 7 as Int64)
        for number in [0, .min, .max] as [Int32] { #expect(decode("\(number)") == number) }
        #expect(decode("9223372036854775807") == Int.max)
    }

    @Test(
        "are no other texts",
        arguments: [nil, "", "-", "--1", "1-", " 1", "1.0", "a", "9223372036854775808", "-9223372036854775809", "99999999999999999999"])
    func others(text: String?) {
        #expect(decode(text, as: Int64.self) == nil && decode(text, as: Int.self) == nil && decode(text, as: Int32.self) == nil)
    }

    @Test("are not cut to a smaller type")
    func narrow() {
        #expect(decode("2147483648", as: Int32.self) == nil && decode("-2147483649", as: Int32.self) == nil)
    }
}
