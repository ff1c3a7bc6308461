/// A header that lists what a client would like, such as `Accept` and `Accept-Language` (RFC 9110 §12.4.2).
enum WeightedValues {
    /// The values without their parameters, the most wanted first, equal ones in their order; what has weight 0 is left out. A weight that
    /// cannot be read is 1.
    static func parse(_ header: String?) -> [String] {
        let items = (header ?? "").split(separator: ",").prefix(32).compactMap { item -> (value: String, weight: Double)? in
            let parts = item.split(separator: ";").map { String($0.filter { !$0.isWhitespace }) }
            guard let value = parts.first, !value.isEmpty else { return nil }
            let weight = parts.dropFirst().first { $0.lowercased().hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            return weight > 0 ? (value, weight) : nil
        }
        // `sorted` is stable.
        return items.sorted { $0.weight > $1.weight }.map(\.value)
    }
}
