import Foundation
import JSON
import Testing

struct TimestampTests {
    @Test(
        "timestamps are formatted in UTC with three decimals",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_772_366_400_005, "2026-03-01T12:00:00.005Z"), (951_825_599_999, "2000-02-29T11:59:59.999Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (Int64.max, "9999-12-31T23:59:59.999Z"), (.min, "0000-01-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func format(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp(millisecondsSince1970: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text) == Timestamp(millisecondsSince1970: milliseconds))
    }

    @Test("timestamps over 600 years agree with Foundation and parse to the same value")
    func days() {
        // From 1586 on, because Foundation's calendar is Julian before; at half a second, which a `Date` represents exactly.
        let formatter = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for day in stride(from: Int64(-140_000), to: 80_000, by: 37) {
            let time = Timestamp(millisecondsSince1970: day * 86_400_000 + 45_296_500)
            #expect(time.rfc3339 == time.date.formatted(formatter))
        }
    }

    @Test("every week of 400 years, the calendar's period, parses to the same value and sorts after the week before")
    func period() {
        var before = ""
        for day in stride(from: Int64(0), through: 146_097, by: 7) {
            let time = Timestamp(millisecondsSince1970: day * 86_400_000)
            let text = time.rfc3339
            if text <= before || Timestamp(rfc3339: text) != time { Issue.record("\(text) after \(before)") }
            before = text
        }
    }

    @Test("offsets, missing and long fractions, and lower-case letters are parsed")
    func reading() {
        let noon = Timestamp(millisecondsSince1970: 1_772_366_400_000)
        for text in [
            "2026-03-01T12:00:00Z", "2026-03-01t14:00:00.0+02:00", "2026-03-01 06:30:00.000999999-05:30", "2026-02-28T23:59:60-12:00",
        ] {
            #expect(Timestamp(rfc3339: text) == noon, "\(text)")
        }
        #expect(Timestamp(rfc3339: "2026-03-01T12:00:00.5Z")?.millisecondsSince1970 == 1_772_366_400_500)
    }

    @Test(
        "text that is not RFC 3339 is nil",
        arguments: [
            "", "2026-03-01", "2026-03-01T12:00:00", "2026-02-29T12:00:00Z", "2026-13-01T12:00:00Z", "2026-00-01T12:00:00Z",
            "2026-03-01T24:00:00Z", "2026-03-01T12:60:00Z", "2026-03-01T12:00:00.Z", "2026-03-01T12:00:00Zx", "2026-03-01T12:00:00+2:00",
            "２026-03-01T12:00:00Z", "-026-03-01T12:00:00Z", "2026-03-01T12:00:00+25:00",
        ])
    func refused(_ text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test("a date is rounded down to the millisecond and converts back")
    func dates() {
        #expect(Timestamp(Date(timeIntervalSince1970: -0.0005)).millisecondsSince1970 == -1)
        #expect(Timestamp(Date(timeIntervalSince1970: 1.9999)).millisecondsSince1970 == 1999)
        for milliseconds in Int64(1_772_366_400_000)..<1_772_366_401_000 {
            let time = Timestamp(millisecondsSince1970: milliseconds)
            #expect(Timestamp(time.date) == time)
        }
        #expect(Timestamp(Date(timeIntervalSince1970: .infinity)).rfc3339 == "9999-12-31T23:59:59.999Z")
        #expect(Timestamp(Date(timeIntervalSince1970: -.infinity)).rfc3339 == "0000-01-01T00:00:00.000Z")
    }
}
