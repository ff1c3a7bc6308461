/// A parser of header fields with quality values, such as `Accept` and `Accept-Language` (RFC 9110 §12.4.2).
public enum WeightedValues {
    /// The values without their parameters, highest weight first, values of equal weight in their order, without those of weight 0. An
    /// invalid weight counts as 1. Values after the first 32 are ignored.
    public static func parse(_ header: String?) -> [String] { weighted(header).map(\.value) }

    /// The same with their weights.
    static func weighted(_ header: String?) -> [(value: String, weight: Double)] {
        let items = (header ?? "").split(separator: ",").prefix(32).compactMap { item -> (value: String, weight: Double)? in
            let parts = item.split(separator: ";").map { String($0.filter { !$0.isWhitespace }) }
            guard let value = parts.first, !value.isEmpty else { return nil }
            let weight = parts.dropFirst().first { $0.lowercased().hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            return weight > 0 ? (value, weight) : nil
        }
        // `sorted` is stable.
        return items.sorted { $0.weight > $1.weight }
    }
}
