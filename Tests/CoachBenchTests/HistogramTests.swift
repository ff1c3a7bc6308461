import Testing

@testable import coach_bench

@Suite("Histograms of durations")
struct HistogramTests {
    @Test("a quantile differs by at most 1.6 percent from the exact one")
    func quantiles() {
        var histogram = Histogram()
        for value in 1...100_000 as ClosedRange<UInt64> { histogram.record(value * 1000) }
        for (share, wanted) in [(0.5, 50_000_000.0), (0.9, 90_000_000), (0.99, 99_000_000)] {
            #expect(abs(Double(histogram.quantile(share)) - wanted) <= 0.016 * wanted)
        }
        #expect(histogram.quantile(1) == 100_000_000)
        #expect(histogram.total == 100_000)
    }

    @Test("small values, including zero, are exact")
    func small() {
        var histogram = Histogram()
        for value in [0, 1, 2, 3, 63, 100, 127] as [UInt64] { histogram.record(value) }
        #expect(histogram.quantile(0.01) == 0)
        #expect(histogram.quantile(0.5) == 3)
        #expect(histogram.largest == 127)
    }

    @Test("values above a limit are counted")
    func above() {
        var histogram = Histogram()
        for value in [1, 10, 1000, 2000] as [UInt64] { histogram.record(value * 1_000_000) }
        #expect(histogram.count(above: 500_000_000) == 2)
        #expect(histogram.count(above: 5_000_000_000) == 0)
    }

    @Test("an empty histogram returns zero")
    func empty() {
        let histogram = Histogram()
        #expect(histogram.quantile(0.99) == 0)
        #expect(histogram.count(above: 0) == 0)
    }
}
