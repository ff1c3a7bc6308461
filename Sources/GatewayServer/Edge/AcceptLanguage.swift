/// The `Accept-Language` header: the last resort for the place and language of crisis resources.
enum AcceptLanguage {
    /// The most wanted language range, BCP 47; nil when there is none or it is `*`.
    static func first(_ header: String?) -> String? {
        guard let tag = WeightedValues.parse(header).first else { return nil }
        let isTag =
            (1...35).contains(tag.utf8.count)
            && tag.utf8.allSatisfy {
                $0 == UInt8(ascii: "-") || ($0 < 128 && Character(Unicode.Scalar($0)).isLetter) || (48...57).contains($0)
            }
        return isTag ? tag : nil
    }
}
