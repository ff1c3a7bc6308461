import PostgresClient
import TestSupport
import Testing

@Suite("Buckets of figures")
struct BucketTests {
    @Test("each quarter of an hour is in the bucket that date_trunc names, also where hours are repeated or left out")
    func names() async throws {
        let store = try await StoreFixture()
        // Havana repeats the hour after midnight, Lord Howe's clocks change by half an hour, Cairo leaves out the hour after midnight.
        for zone in ["UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo", "Pacific/Apia"] {
            for grain in ["hour", "day", "week"] {
                for (starts, ends) in [("2026-03-01 00:15+00", "2026-04-30 10:45+00"), ("2026-09-20 23:45+00", "2026-11-20 18:15+00")] {
                    let wrong = try await store.value(
                        Query(
                            unsafeSQL: """
                                select string_agg(concat_ws(' ', t, date_trunc('\(grain)', t, '\(zone)'), b.labels[width_bucket(t, b.edges)]), '; ')
                                from gateway.buckets('\(starts)', '\(ends)', '\(grain)', '\(zone)') b
                                cross join generate_series('\(starts)'::timestamptz, '\(ends)'::timestamptz - interval '1 minute', interval '15 minutes') as t
                                where date_trunc('\(grain)', t, '\(zone)') is distinct from b.labels[width_bucket(t, b.edges)]
                                    or b.edges[1] <> '\(starts)'
                                """))
                    #expect(wrong == nil, "\(zone) \(grain): \(wrong?.prefix(300) ?? "")")
                }
            }
        }
        #expect(try await store.value("select edges::text from gateway.buckets('2026-03-01+00', '2026-03-01+00', 'day', 'UTC')") == nil)
    }
}
