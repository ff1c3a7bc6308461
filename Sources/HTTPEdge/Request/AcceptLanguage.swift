import CoachCore

/// Reads the `Accept-Language` header, which decides the region of crisis resources when nothing else does.
public enum AcceptLanguage {
    /// The region of the preferred language range; unknown when there is none or it is `*`.
    public static func region(_ header: String?) -> Region { Region(locale: first(header)) }

    /// The preferred language range, BCP 47.
    static func first(_ header: String?) -> String? {
        guard let tag = WeightedValues.parse(header).first else { return nil }
        let isTag =
            (1...35).contains(tag.utf8.count) && tag.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        return isTag ? tag : nil
    }
}
