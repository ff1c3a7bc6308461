import Testing

/// A page of metrics.
struct MetricsPage {
    let lines: [Substring]

    init(port: Int) async throws {
        let browser = Browser(port: port)
        let page = try await browser.send(
            "GET", "/metrics", headers: ["Accept": "application/openmetrics-text; version=1.0.0", "X-Request-ID": "scrape"])
        for answer in [page, try await browser.send("GET", "/none")] { #expect(answer.headers["x-api-version"] == "1.0") }
        #expect(page.headers["x-request-id"] == "scrape")
        #expect(page.headers["content-type"]?.hasPrefix("application/openmetrics-text") == true && page.text.hasSuffix("# EOF\n"))
        lines = page.text.split(separator: "\n")
    }

    /// Of all series of a name that have a label.
    func sum(_ name: String, _ label: String = "") -> Double {
        lines.filter { ($0.hasPrefix(name + "{") || $0.hasPrefix(name + " ")) && (label.isEmpty || $0.contains(label)) }.compactMap {
            $0.split(separator: " ").last.flatMap { Double($0) }
        }
        .reduce(0, +)
    }
}
