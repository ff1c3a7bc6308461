import JSON

/// A change of the account: `AccountChange(displayName: .set("Zoë"), country: .clear)`.
public struct AccountChange: Sendable, Equatable {
    /// 1–100 characters.
    public var displayName: FieldChange<String>
    /// BCP 47.
    public var locale: FieldChange<String>
    /// ISO 3166-1 alpha-2.
    public var country: FieldChange<String>
    /// IANA.
    public var timeZone: FieldChange<String>
    public var isMinor: FieldChange<Bool>

    public init(
        displayName: FieldChange<String> = .keep, locale: FieldChange<String> = .keep, country: FieldChange<String> = .keep,
        timeZone: FieldChange<String> = .keep, isMinor: FieldChange<Bool> = .keep
    ) {
        self.displayName = displayName
        self.locale = locale
        self.country = country
        self.timeZone = timeZone
        self.isMinor = isMinor
    }

    /// A merge patch (RFC 7396).
    var json: JSONValue {
        let texts = [("display_name", displayName), ("locale", locale), ("country", country), ("time_zone", timeZone)]
        let members = texts.map { name, change in change.member(name, JSONValue.string) } + [isMinor.member("is_minor", JSONValue.bool)]
        return .object(members.compactMap { $0 })
    }
}
