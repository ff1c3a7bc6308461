import HTTPTypes

/// The format of a list response's body.
enum ListFormat: CaseIterable {
    case envelope, csv, jsonLines

    var mediaType: String {
        switch self {
        case .envelope: "application/json"
        case .csv: "text/csv"
        case .jsonLines: "application/x-ndjson"
        }
    }

    /// The preferred format of an `Accept` header; the envelope when it has none of them.
    init(accept: String?) {
        let preferred = WeightedValues.parse(accept?.lowercased()).lazy.compactMap { type in
            Self.allCases.first { $0.mediaType == type }
        }
        self = preferred.first ?? .envelope
    }
}
