/// The crisis resources of `domains/safety/resources.json` by country, category and language, and the texts of safety cards.
public struct CrisisResources: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var resource: CrisisResource
        /// The names in other languages, where they differ.
        var names: [String: String]
        /// The only language that it serves (ISO 639-1), such as Spanish for some lines in the United States.
        var language: String?
        /// Empty for general lines.
        var categories: Set<RiskCategory>
        /// Only in the list of `all(in:)`, never on a card for a message.
        var listedOnly: Bool
        /// The day of the last verification; nil: the file has none.
        var verifiedOn: CalendarDay?
    }

    struct Country: Sendable, Equatable {
        var emergencyNumber: String
        /// The emergency number for abuse and violence, where it differs.
        var policeNumber: String?
        var language: String
        var entries: [Entry]
    }

    /// A kind of message in the file. The raw values are its keys.
    enum MessageKind: String, CaseIterable, Sendable {
        /// Card messages by tier: up to 2, 3, 4.
        case concern, acute, imminent
        /// For the stored level alone.
        case reminder
        /// Introductions of `SafetyCard.fixedAnswer`: up to tier 3, 4.
        case fixed
        case fixedImminent = "fixed_imminent"
        /// `SafetyCard.opening`: tier 3, 4.
        case opening
        case openingImminent = "opening_imminent"

        /// The variants that a file must have. The default texts ask a user to unlock the door or to tell somebody close, which may endanger
        /// a victim of abuse and the target of violence. A reminder has the default only, because it does not name earlier danger.
        var requiredVariants: [String] {
            self == .reminder ? ["default"] : ["default", "other", RiskCategory.abuse.rawValue, RiskCategory.violence.rawValue]
        }

        /// Further variants that a file may have.
        var optionalVariants: [String] {
            self == .reminder ? [] : RiskCategory.allCases.map(\.rawValue).filter { !requiredVariants.contains($0) }
        }
    }

    /// The texts of one language.
    struct Texts: Sendable, Equatable {
        /// By kind, then by `RiskCategory`, "default", or "other" (danger of another person).
        var messages: [MessageKind: [String: String]]
        /// Name of the emergency number in a known country.
        var emergencyName: String
        /// Name of `Country.policeNumber`.
        var policeName: String
        /// Name of the emergency number when the country is unknown.
        var localEmergencyName: String
        /// The verbs before a phone number and an SMS instruction.
        var call: String
        var text: String
        /// The word between what to text and the number: "HOME to 741741".
        var to: String
    }

    /// ISO 639-1 languages in which the file has texts.
    static let languages = ["en", "es", "de", "fr", "pt"]

    /// Version of the file; its editors increment it.
    public var version: Int
    /// By ISO 3166-1 alpha-2 code, aliases included.
    var countries: [String: Country]
    var international: [Entry]
    /// By language.
    var texts: [String: Texts]

    /// Maximum number of resources on a card for a message. A person in a crisis does not read a longer list.
    static let maximumOnCard = 5

    /// The card for the risk of a message, or for the stored level alone (`RiskAssessment.isReminder`). Without a country the resources are
    /// international, never those of the United States. At tier 4 the emergency number is first.
    public func card(for risk: RiskAssessment, in region: Region) -> SafetyCard {
        RegionalResources(self, in: region, for: risk).card(for: risk)
    }

    /// A card with every resource of a country and the international ones: for `GET /api/v1/resources`, and for errors to users with a
    /// stored safety level.
    public func all(in region: Region) -> SafetyCard { RegionalResources(self, in: region, for: .calm).all }

    /// Days after which an entry is to be checked again.
    private static let verificationDays = 365

    /// A line for each entry that was last checked more than a year ago.
    public func outdated(on today: CalendarDay) -> [String] {
        let entries = countries.sorted { $0.key < $1.key }.flatMap(\.value.entries) + international
        var lines: [String] = []
        for entry in entries {
            guard let day = entry.verifiedOn, today.daysSinceEpoch - day.daysSinceEpoch > CrisisResources.verificationDays else { continue }
            let line = "\(entry.resource.name) was last verified on \(day)"
            // Countries share entries.
            if !lines.contains(line) { lines.append(line) }
        }
        return lines
    }

    /// Every phone number and text code of the file, as written.
    var phoneNumbers: [String] {
        let entries = countries.values.flatMap(\.entries) + international
        let emergency = countries.values.flatMap { [$0.emergencyNumber] + ($0.policeNumber.map { [$0] } ?? []) }
        return emergency + entries.flatMap { [$0.resource.phone, $0.resource.sms].compactMap(\.self) }
    }
}

extension CrisisResources.Texts {
    static let empty = CrisisResources.Texts(
        messages: [:], emergencyName: "", policeName: "", localEmergencyName: "", call: "", text: "", to: "")
}
