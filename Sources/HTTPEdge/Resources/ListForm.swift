import HTTPTypes

/// The form of a list's body.
enum ListForm: CaseIterable {
    case envelope, csv, jsonLines

    var mediaType: String {
        switch self {
        case .envelope: "application/json"
        case .csv: "text/csv"
        case .jsonLines: "application/x-ndjson"
        }
    }

    /// The preferred form of an `Accept` header; an envelope when it names none.
    init(accept: String?) {
        let preferred = WeightedValues.parse(accept?.lowercased()).lazy.compactMap { type in
            Self.allCases.first { $0.mediaType == type }
        }
        self = preferred.first ?? .envelope
    }
}
