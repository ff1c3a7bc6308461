import CoachCore

/// Removes near-duplicates: rows that have most word pairs in common with an earlier row (Jaccard index). Minimal pairs are alike on
/// purpose and stay.
public enum NearDuplicates {
    /// Minimum Jaccard index of a duplicate.
    public static let threshold = 0.7

    public static func removed(from rows: [TrainingRow]) -> [TrainingRow] {
        let shingles = rows.map { Set(NearDuplicates.shingles(of: $0.text)) }
        var earlier: [String: [Int]] = [:]
        return rows.indices.compactMap { index in
            var shared: [Int: Int] = [:]
            for shingle in shingles[index] { for other in earlier[shingle] ?? [] { shared[other, default: 0] += 1 } }
            let isDuplicate = shared.contains { other, count in
                let union = shingles[index].count + shingles[other].count - count
                return Double(count) >= threshold * Double(union) && !isPair(rows[index], rows[other])
            }
            if isDuplicate { return nil }
            for shingle in shingles[index] { earlier[shingle, default: []].append(index) }
            return rows[index]
        }
    }

    private static func isPair(_ first: TrainingRow, _ second: TrainingRow) -> Bool {
        first.label != second.label || (first.file == second.file && first.pair != nil && first.pair == second.pair)
    }

    private static func shingles(of text: String) -> [String] {
        let words = text.lowercased().split { !$0.isLetter && !$0.isNumber }
        return zip([""] + words, words).map { "\($0) \($1)" }
    }
}
