import Testing

@testable import CoachCore

@Suite("Region")
struct RegionTests {
    @Test("country and language each come from the first source that has one")
    func sources() {
        let british = Region(country: "GB")
        #expect(Region(firstOf: [Region(locale: "en"), british, Region(locale: "es-ES")]) == Region(country: "GB", locale: "en"))
        #expect(Region(firstOf: [Region(locale: "en"), Region(locale: "en-GB")]) == Region(country: "GB", locale: "en"))
        #expect(Region(firstOf: [Region(locale: "en-AU"), british]) == Region(country: "AU", locale: "en-AU"))
        #expect(
            Region(firstOf: [Region(country: "gb", locale: "en-US"), Region(locale: "en-AU")]) == Region(country: "GB", locale: "en-US"))
        for nonsense in ["nowhere", "ZZ", "XX", "A1", "", "🇬🇧"] {
            #expect(Region(firstOf: [Region(country: nonsense), british]) == british, "\(nonsense)")
            #expect(Region(country: nonsense, locale: "en-GB").countryCode == "GB")
            // Neither is stored.
            #expect(Region(country: nonsense, locale: "zz-\(nonsense)") == .unknown, "\(nonsense)")
        }
        #expect(Region(firstOf: [Region(locale: "en-XX"), british]) == Region(country: "GB", locale: "en-XX"))
        #expect(Region(firstOf: [Region(locale: "zz-AU"), Region(locale: "de")]) == Region(country: "AU", locale: "de"))
        #expect(Region(firstOf: [Region(locale: "es-MX")]) == Region(country: "MX", locale: "es-MX"))
        #expect(Region(firstOf: [.unknown, .unknown]) == .unknown)
    }

    @Test("every country that has resources is a place")
    func countries() {
        let countries = Shipped.resources.countries.keys
        #expect(countries.contains("GB") && countries.allSatisfy { Region(country: $0).countryCode == $0 })
        #expect(Region(country: "uk").countryCode == "GB" && Region(locale: "en-UK").countryCode == "GB")
    }

    @Test("a locale may be a tag with either separator, or a header of which the first tag is read")
    func locales() {
        #expect(Region(locale: "en_US").countryCode == "US" && Region(locale: "EN-us").language == "en")
        #expect(Region(locale: "en-AU,en;q=0.9").countryCode == "AU")
        #expect(Region(locale: "zh-Hant-TW").countryCode == "TW" && Region(locale: "zh-Hant-TW").language == "zh")
        // A region that the user has set overrides that of the language.
        let overridden = [
            "en-US-u-rg-dezzzz", "EN-US-U-RG-DEZZZZ", "en_US@rg=dezzzz", "en-u-ca-gregory-rg-dezzzz,en;q=0.5",
            "en_US@calendar=buddhist;rg=dezzzz",
        ]
        for locale in overridden {
            #expect(Region(locale: locale).countryCode == "DE" && Region(locale: locale).language == "en", "\(locale)")
        }
        #expect(Region(locale: "en-US-u-rg-ukzzzz").countryCode == "GB")
        #expect(Region(locale: "de@ms=metric").countryCode == nil, "a keyword is no country")
        for locale in ["en-US-u-rg-xxzzzz", "en-US-u-rg", "en-US-u-rg-de", "en-US-u-hc-h12"] {
            #expect(Region(locale: locale).countryCode == "US", "\(locale)")
        }
        #expect(Region(locale: "x").language == nil && Region(locale: "").countryCode == nil)
    }
}
