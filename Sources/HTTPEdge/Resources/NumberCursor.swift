import CoachCore

/// Paging of lists that are ordered by a number: the cursor is the number of the last item.
extension PageRequest {
    /// The cursor's number; nil for the first page. Throws `InvalidCursor`.
    public var numberCursor: Int64? {
        get throws(InvalidCursor) {
            guard let cursor else { return nil }
            guard let number = Int64(cursor), number > 0 else { throw InvalidCursor() }
            return number
        }
    }
}

extension Page {
    /// From up to `limit + 1` items; the last one only shows that there is a next page.
    public init(_ found: [Element], limit: Int, number: (Element) -> Int64) {
        let items = Array(found.prefix(limit))
        self.init(items: items, nextCursor: found.count > limit ? items.last.map { "\(number($0))" } : nil)
    }

    /// A page of a short list that is at hand as a whole, by its items' positions. Throws `InvalidCursor`.
    public init(of all: [Element], _ request: PageRequest) throws(InvalidCursor) {
        let start = Int(min(try request.numberCursor ?? 0, Int64(all.count)))
        let end = min(start + request.limit, all.count)
        self.init(items: Array(all[start..<end]), nextCursor: end < all.count ? "\(end)" : nil)
    }
}
