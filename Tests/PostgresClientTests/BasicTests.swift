import Foundation
import PostgresClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct BasicTests {
    @Test("values are sent and read back unchanged: text, numbers, booleans, UUID, bytes, JSON, NULL, arrays")
    func values() async throws {
        try await withClient { client, _ in
            let id = UUID()
            let bytes: [UInt8] = Array(0...255)
            let text = "Ärger \u{1F468}\u{200D}\u{1F469} \u{2028} 'quoted' \"twice\" \\ {a,b}"
            let nothing: String? = nil
            let texts: [String?] = ["a", "", nil, "NULL", "q\"\\,{}"]
            try await client.query(
                """
                select \(text)::text a, \(-42)::int b, \(true)::bool c, \(id)::uuid d, \(bytes)::bytea e, \(#"{"k": [1]}"#)::jsonb f,
                    \(nothing)::text g, \(texts)::text[] h, \([id])::uuid[] i, \([1, -2])::bigint[] j, \(1.5)::float8 k, \([String]())::text[] l
                """
            ) { rows in
                #expect(rows.count == 1)
                #expect(rows.columnCount == 12)
                #expect(rows.text(0, 0) == text)
                #expect(rows.int(0, 1) == -42)
                #expect(rows.text(0, 5) == #"{"k": [1]}"#)
                #expect(rows.isNull(0, 6) == true)
                #expect(rows.text(0, 6) == nil)
                #expect(rows.text(9, 0) == nil)
                try rows.only { row in
                    let decoded: (String, Int, Bool, UUID, [UInt8]) = try (
                        row.value(0), row.value(1), row.value(2), row.value(3), row.value(4)
                    )
                    #expect(decoded == (text, -42, true, id, bytes))
                    let missing: String? = try row.value(6)
                    let present: String? = try row.value(0)
                    #expect(missing == nil)
                    #expect(present == text)
                    let arrays: ([String?], [UUID], [Int], [String]) = try (
                        row.value(7), row.value(8), row.value(9), row.value(11)
                    )
                    #expect(arrays == (texts, [id], [1, -2], []))
                    let number: Double = try row.value(10)
                    #expect(number == 1.5)
                }
            }
        }
    }
    @Test("arrays in binary form are read back unchanged, without a cast: 32-bit integers, UUIDs, also empty ones")
    func binaryArrays() async throws {
        try await withClient { client, _ in
            let numbers: [Int32] = [.min, -1, 0, 1, 1 << 16, .max]
            let ids = (0..<300).map { _ in UUID() }
            let arrays: ([Int], [UUID], Bool, Int?) = try await client.query(
                "select \(numbers), \(ids), \([Int32]()) = '{}' and \([UUID]()) = '{}', (\(numbers))[6]"
            ) { rows in
                try rows.only { row in (try row.value(0), try row.value(1), try row.value(2), try row.value(3)) }
            }
            #expect(arrays == (numbers.map(Int.init), ids, true, Int(Int32.max)))
        }
    }
}
