import JSON

/// The kind of the notice in a turn's `start` event that the coach is a machine. Raw values are those of the database.
public enum DisclosureKind: String, Sendable, CaseIterable {
    case standard
    /// For minors: with a reminder to take a break (California B&P § 22602).
    case minor
}

/// The notices of `domains/safety/disclosure.json`, by language.
public struct Disclosures: Sendable, Equatable {
    /// Version of the file; its editors increment it with every change of a text.
    public var version: Int
    private var texts: [String: [DisclosureKind: String]]

    /// Parses and validates the file. The error has all findings.
    public init(json: [UInt8], file: String = "disclosure.json") throws(ConfigurationRejected) {
        self = try ConfigurationRejected.read(json, file: file, Disclosures.init)
    }

    private init(_ root: JSONReader) throws(JSONFinding) {
        version = try root.required("version", .integer(1...1_000_000))
        texts = [:]
        let languages = try root.object("texts")
        for language in CrisisResources.languages {
            let json = try languages.object(language)
            for kind in DisclosureKind.allCases {
                texts[language, default: [:]][kind] = try json.required(kind.rawValue, .text(20...600))
            }
            try json.rejectUnknown()
        }
        try languages.rejectUnknown()
        try root.rejectUnknown(besides: ["about"])
    }

    /// The notice in the region's language, in English when there is none.
    public func text(_ kind: DisclosureKind, in region: Region) -> String {
        (region.language.flatMap { texts[$0] } ?? texts["en"])?[kind] ?? ""
    }
}
