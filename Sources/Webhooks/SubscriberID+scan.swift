import CoachCore

extension SubscriberID {
    /// The ids in a text that can be told from other text, whatever surrounds them: all UUIDs, RevenueCat's anonymous ids and Stripe's customers.
    static func all(in text: [UInt8]) -> Set<SubscriberID> {
        var found = users(in: text)
        found.formUnion(ids(in: text, after: "$RCAnonymousID:").compactMap { SubscriberID("$RCAnonymousID:\($0)") })
        found.formUnion(ids(in: text, after: "cus_").compactMap { SubscriberID(.stripe, "cus_\($0)") })
        return found
    }

    private static func users(in text: [UInt8]) -> Set<SubscriberID> {
        var found: Set<SubscriberID> = []
        // The hyphen after the first eight digits; the last of the 36 characters is 27 after it.
        var hyphen = 8
        while hyphen + 27 < text.count {
            if isHyphen(text[hyphen]), isHyphen(text[hyphen + 5]), isHyphen(text[hyphen + 10]), isHyphen(text[hyphen + 15]),
                let user = UserID(validating: String(decoding: text[hyphen - 8...hyphen + 27], as: UTF8.self))
            {
                found.insert(SubscriberID(user))
            }
            hyphen += 1
        }
        return found
    }

    /// The letters, digits and hyphens after each occurrence of a prefix.
    private static func ids(in text: [UInt8], after prefix: String) -> [String] {
        let prefix = Array(prefix.utf8)
        var (found, rest) = ([String](), text[...])
        while let start = rest.firstIndex(of: prefix[0]) {
            rest = rest[start...]
            guard rest.starts(with: prefix) else {
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst(prefix.count)
            let id = rest.prefix { isAlphanumeric($0) || isHyphen($0) }
            if !id.isEmpty { found.append(String(decoding: id, as: UTF8.self)) }
        }
        return found
    }

    private static func isHyphen(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: false
        }
    }
}
