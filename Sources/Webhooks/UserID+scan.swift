import CoachCore

extension UserID {
    /// All UUIDs in a text, whatever surrounds them.
    static func all(in text: [UInt8]) -> Set<UserID> {
        var found: Set<UserID> = []
        // The hyphen after the first eight digits; the last of the 36 characters is 27 after it.
        var hyphen = 8
        while hyphen + 27 < text.count {
            if isHyphen(text[hyphen]), isHyphen(text[hyphen + 5]), isHyphen(text[hyphen + 10]), isHyphen(text[hyphen + 15]),
                let user = UserID(validating: String(decoding: text[hyphen - 8...hyphen + 27], as: UTF8.self))
            {
                found.insert(user)
            }
            hyphen += 1
        }
        return found
    }

    private static func isHyphen(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") }
}
