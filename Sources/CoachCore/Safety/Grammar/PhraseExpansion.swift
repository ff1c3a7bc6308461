/// Expands endings: `kill/s/ed/ing` → kill, kills, killed, killing. Each word of a phrase may have them; the result is every combination.
enum PhraseExpansion {
    /// How many phrases `expand` returns.
    static func count(_ phrase: String) -> Int {
        phrase.split(separator: " ").reduce(1) { count, word in
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: word.count { $0 == "/" } + 1)
            return isTooLarge ? Int.max : product
        }
    }

    static func expand(_ phrase: String) -> [String] {
        phrase.split(separator: " ").reduce([""]) { heads, word in
            let parts = word.split(separator: "/", omittingEmptySubsequences: false)
            let stem = String(parts[0])
            let forms = [stem] + parts.dropFirst().map { stem + $0 }
            return heads.flatMap { head in forms.map { head.isEmpty ? $0 : head + " " + $0 } }
        }
    }
}
