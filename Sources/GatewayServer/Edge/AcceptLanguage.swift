/// The `Accept-Language` header: the last resort for the place and language of crisis resources.
enum AcceptLanguage {
    /// The first language range, BCP 47; nil when there is none or it is `*`. Weights are ignored: clients name their own first.
    static func first(_ header: String?) -> String? {
        guard let range = header?.split(separator: ",").first?.split(separator: ";").first else { return nil }
        let tag = range.filter { $0 != " " }
        let isTag =
            (1...35).contains(tag.utf8.count)
            && tag.utf8.allSatisfy {
                $0 == UInt8(ascii: "-") || ($0 < 128 && Character(Unicode.Scalar($0)).isLetter) || (48...57).contains($0)
            }
        return isTag ? String(tag) : nil
    }
}
