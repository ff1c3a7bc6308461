import Testing

/// Lists of so few items that they are at hand as a whole.
@Suite("Short lists", .paced)
struct ShortListTests {
    @Test(
        "take a limit and a cursor, as all lists do",
        arguments: ["domains", "me/consents", "resources?country=DE", "operator/domain-configs"])
    func pages(_ path: String) async throws {
        let user = TestUser(gateway: try await TestBed.shared().gateway, role: "operator")
        let (path, separator) = ("/api/v1/\(path)", path.contains("?") ? "&" : "?")
        let whole = try await user.send("GET", "\(path)\(separator)limit=100").list
        try #require(whole.count > 1)
        func key(_ item: JSONObject) -> String? { item["id"] ?? item["kind"] ?? item["name"] }
        var pages: [String?] = []
        var cursor: String?
        repeat {
            let page = try await user.send("GET", "\(path)\(separator)limit=1" + (cursor.map { "&cursor=\($0)" } ?? ""))
            #expect(page.status == 200 && page.list.count == 1, "\(page.text)")
            pages += page.list.map(key)
            let pagination = page.json.object("pagination")
            cursor = pagination["next_cursor"]
            #expect(pagination.flag("has_next") == (cursor != nil))
        } while cursor != nil && pages.count <= whole.count
        #expect(pages == whole.map(key) && !pages.contains(nil))
        for wrong in ["limit=0", "limit=101", "cursor=1"] {
            let refused = try await user.send("GET", "\(path)\(separator)\(wrong)")
            #expect(refused.status == 422 && refused.error["code"]?.hasPrefix("VAL_") == true, "\(wrong): \(refused.text)")
        }
    }
}
