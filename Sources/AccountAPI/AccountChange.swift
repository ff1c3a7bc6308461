import CoachCore
import Foundation
import GatewayAPI
import JSON

/// The body of a change of the account.
struct AccountChange: Sendable {
    var patch = AccountPatch()

    static let body = JSONBody(
        "MePatch", descriptions: ["locale": "BCP 47", "country": "ISO 3166-1 alpha-2", "time_zone": "IANA"],
        examples: ["locale": "en-GB", "country": "GB", "time_zone": "Europe/London"], AccountChange.init)

    private init(_ body: JSONReader) throws(JSONFinding) {
        if body.contains("display_name") { patch.displayName = .some(try body.optional("display_name", .text(1...100))) }
        if body.contains("locale") { patch.locale = .some(try body.optional("locale", .locale)) }
        if body.contains("country") { patch.country = .some(try body.optional("country", .country)) }
        if body.contains("time_zone") { patch.timeZone = .some(try body.optional("time_zone", .timeZone)) }
        if body.contains("is_minor") { patch.isMinor = .some(try body.optional("is_minor")) }
    }
}

extension JSONField<String> {
    /// The form of a BCP 47 tag; whether its parts are registered does not matter.
    fileprivate static var locale: Self {
        .parsed("a language tag like \"en-GB\"", placeholder: "") { text in
            text.utf8.count <= 35 && text.wholeMatch(of: /[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*/) != nil ? text : nil
        }
    }

    fileprivate static var country: Self {
        .parsed("a country code like \"GB\"", placeholder: "") { Region(country: $0).countryCode }
    }

    fileprivate static var timeZone: Self {
        .parsed("a time zone like \"Europe/London\"", placeholder: "") { text in
            TimeZone.isIANA(text) ? text : nil
        }
    }
}
