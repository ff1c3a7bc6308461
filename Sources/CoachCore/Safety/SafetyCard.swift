/// A crisis line or service: an element of `resources` in a `safety` event (CONTRACT §4).
public struct CrisisResource: Sendable, Hashable {
    public var name: String
    /// Number to call, as dialled in its country.
    public var phone: String?
    /// Text message to send, as an instruction in the card's language: "HOME to 741741".
    public var sms: String?
    /// Starts with `https://`.
    public var url: String?
    /// Opening hours for display: "24/7".
    public var hours: String?
    /// ISO 3166-1 alpha-2; nil for international ones.
    public var country: String?

    public init(name: String, phone: String?, sms: String?, url: String?, hours: String?, country: String?) {
        self.name = name
        self.phone = phone
        self.sms = sms
        self.url = url
        self.hours = hours
        self.country = country
    }
}

/// The content of a `safety` event (CONTRACT §4): a supportive message and crisis resources.
public struct SafetyCard: Sendable, Equatable {
    /// How the client displays the card: tier 2 is `concern`, tiers 3 and 4 are `acute`.
    public enum Severity: String, Sendable {
        case concern, acute
    }
    public var severity: Severity
    /// 2 for a reminder.
    public var tier: RiskTier
    public var categories: [RiskCategory]
    /// Never empty.
    public var resources: [CrisisResource]
    /// Why the card is shown. Contains no phone number.
    public var message: String
    /// Released before the model's text at tiers 3 and 4; nil below.
    public var opening: String?
    /// The whole answer, resources included, for a turn without a model's answer (CONTRACT §4). Used at tiers 3 and 4, and at tier 2 when no model
    /// may be called.
    public var fixedAnswer: String
}
