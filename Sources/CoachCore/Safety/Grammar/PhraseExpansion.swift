/// Expands endings: `kill/s/ed/ing` → kill, kills, killed, killing. Each word of a phrase may have them; the result is every combination.
enum PhraseExpansion {
    static func expand(_ phrase: String) -> [String] {
        phrase.split(separator: " ").reduce([""]) { heads, word in
            let parts = word.split(separator: "/", omittingEmptySubsequences: false)
            let stem = String(parts[0])
            let forms = [stem] + parts.dropFirst().map { stem + $0 }
            return heads.flatMap { head in forms.map { head.isEmpty ? $0 : head + " " + $0 } }
        }
    }
}
