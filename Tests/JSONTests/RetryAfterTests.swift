import Testing

@testable import JSON

@Suite("RetryAfter")
struct RetryAfterTests {
    @Test(
        "a pause is a number of seconds, or a date in each form of HTTP's dates, counted from the server's own clock where it is known",
        arguments: ["Fri, 20 Nov 2026 18:31:45 GMT", "Friday, 20-Nov-26 18:31:45 GMT", "Fri Nov 20 18:31:45 2026"])
    func dates(_ date: String) throws {
        let end = try #require(Timestamp(rfc3339: "2026-11-20T18:31:45Z"))
        let now = Timestamp(millisecondsSince1970: end.millisecondsSince1970 - 1500)
        #expect(HTTPDate.parse(date, now: now) == end)
        #expect(RetryAfter.pause(date, sent: nil, now: now) == .milliseconds(1500))
        #expect(RetryAfter.pause(date, sent: "no date", now: now) == .milliseconds(1500))
        #expect(RetryAfter.pause(date, sent: "Fri, 20 Nov 2026 18:31:00 GMT", now: now) == .seconds(45))
        #expect(RetryAfter.pause(date, sent: "Fri, 20 Nov 2026 19:00:00 GMT", now: now) == .zero)
        #expect(RetryAfter.pause("7", sent: date, now: now) == .seconds(7))
    }

    @Test("a fraction of seconds is a pause; a negative or absurd number and other texts are none")
    func numbers() {
        #expect(RetryAfter.pause("0.5", sent: nil) == .milliseconds(500) && RetryAfter.pause("0", sent: nil) == .zero)
        for text in ["-1", "nan", "inf", "1e300", "soon", "", "Fri, 20 Nov 9999 18:31:45 GMT"] {
            #expect(RetryAfter.pause(text, sent: nil) == nil, "\(text)")
        }
    }

    @Test(
        "what is no date is none",
        arguments: [
            "", "Fri, 20 Nov 2026 18:31:45", "Fri, 20 Nov 2026 18:31:45 PST", "Fri, 31 Nov 2026 18:31:45 GMT",
            "Fri, 20 Nov 2026 24:00:00 GMT",
            "Fri, 20 Nov 2026 18:31 GMT", "Fri, 20 nov 2026 18:31:45 GMT", "Fri, 20 Nov 20261 18:31:45 GMT",
            "Fri, +2 Nov 2026 18:31:45 GMT",
        ])
    func noDate(_ text: String) {
        #expect(HTTPDate.parse(text, now: .now) == nil)
    }

    @Test("a year of two digits is at most fifty years away")
    func centuries() throws {
        let now = try #require(Timestamp(rfc3339: "2026-11-20T00:00:00Z"))
        for (year, expected) in [("76", "2076"), ("77", "1977"), ("00", "2000"), ("26", "2026")] {
            #expect(HTTPDate.parse("Sunday, 06-Nov-\(year) 08:49:37 GMT", now: now)?.rfc3339.prefix(4) == expected[...])
        }
    }
}
