/// The features of a message for linear classifiers: folded words, pairs of words, character n-grams, concepts, pairs of concepts, and what the
/// grammar and the routing terms find, each hashed to one of `bucketCount` buckets. Training and the server use this type, so both see the same
/// features.
///
/// A long message is read in overlapping windows, so that danger anywhere in it counts as much as in a short message.
public struct MessageFeatures: Sendable {
    public static let bucketCount = 1 << 16
    /// Words of one window. Longer ones find no more, and lose half of what they find when it is buried in a long message.
    private static let windowLength = 32
    /// Words from the start of one window to the start of the next.
    private static let windowStride = 16
    /// Maximum distance of a pair of concepts, in words.
    private static let conceptDistance = 8
    /// Lengths of the character n-grams, in bytes of the folded word with a space on either side.
    private static let ngramLengths = 3...5
    /// N-grams of a longer word end here, which bounds the work.
    private static let longestWord = 40

    /// The distinct buckets of all windows, window after window.
    public private(set) var buckets: [UInt16] = []
    /// For each window the index after its last bucket. At least one window.
    public private(set) var ends: [Int] = []

    /// The first word of a window.
    static func firstWord(ofWindow index: Int) -> Int { index * windowStride }

    /// The buckets of one window.
    public func window(_ index: Int) -> ArraySlice<UInt16> { buckets[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }

    /// `findings` are the ids of grammar entries and other names of what the message contains; they count in every window.
    init(_ sequence: TokenSequence, concepts: ConceptLexicon, findings: [String]) {
        let all = MessageFeatures.buckets(of: sequence, concepts)
        let shared = findings.map { finding in
            MessageFeatures.bucket(WordHash(finding.utf8).value ^ Kind.finding.rawValue)
        }
        let windows = max(1, sequence.tokens.count / MessageFeatures.windowStride)
        buckets.reserveCapacity(min(windows, 2) * all.buckets.count + windows * shared.count)
        var seen = [UInt64](repeating: 0, count: MessageFeatures.bucketCount / 64)
        var start = 0
        repeat {
            let end = min(start + MessageFeatures.windowLength, sequence.tokens.count)
            let first = buckets.count
            for bucket in shared { append(bucket, &seen) }
            let lower = start == 0 ? 0 : all.ends[start - 1]
            for index in lower..<(end == 0 ? 0 : all.ends[end - 1]) { append(all.buckets[index], &seen) }
            for index in first..<buckets.count { seen[Int(buckets[index] >> 6)] = 0 }
            ends.append(buckets.count)
            if end == sequence.tokens.count { break }
            start += MessageFeatures.windowStride
        } while true
    }

    private mutating func append(_ bucket: UInt16, _ seen: inout [UInt64]) {
        let bit: UInt64 = 1 << UInt64(bucket & 63)
        guard seen[Int(bucket >> 6)] & bit == 0 else { return }
        seen[Int(bucket >> 6)] |= bit
        buckets.append(bucket)
    }

    /// Separates the hashes of features of different kinds.
    private enum Kind: UInt64 {
        case word = 0x9E37_79B9_7F4A_7C15
        case pair = 0xBF58_476D_1CE4_E5B9
        case skippedPair = 0x94D0_49BB_1331_11EB
        case finding = 0xD6E8_FEB8_6659_FD93
        case concept = 0xA076_1D64_78BD_642F
        case conceptPair = 0xE703_7ED1_A0B4_28DB
        case wordBeforeConcept = 0x8EBC_6AF0_9C88_C6E3
        case wordAfterConcept = 0x5899_65CC_7537_4CC3
    }

    /// Laughter has no features: it is common in harmless rows, and must not hide danger.
    private static func isLaughter(_ word: ArraySlice<UInt8>, _ hash: UInt64) -> Bool {
        word.count >= 4 ? word.allSatisfy { "haje".utf8.contains($0) } : laughter.contains(hash)
    }

    private static let laughter = ["lol", "jk", "xd", "kk", "mdr"].map { WordHash($0.utf8).value }

    /// The buckets of each token: its word, its n-grams, its concepts, and its pairs with the words and concepts before it.
    private static func buckets(of sequence: TokenSequence, _ lexicon: ConceptLexicon) -> (buckets: [UInt16], ends: [Int]) {
        var buckets: [UInt16] = []
        var ends: [Int] = []
        buckets.reserveCapacity(sequence.bytes.count * 4)
        ends.reserveCapacity(sequence.tokens.count)
        var last: UInt64 = 1
        var lastButOne: UInt64 = 0
        var concepts: [UInt8] = []
        // The index in `concepts` at which each word's begin.
        var starts: [Int] = []
        for token in sequence.tokens {
            let word = sequence.bytes[token.bytes]
            guard !isLaughter(word, token.hash) else {
                ends.append(buckets.count)
                continue
            }
            for concept in concepts[(starts.last ?? 0)...] {
                buckets.append(bucket(token.hash &* Kind.wordAfterConcept.rawValue ^ UInt64(concept)))
            }
            starts.append(concepts.count)
            lexicon.append(word, to: &concepts)
            for concept in concepts[(starts.last ?? 0)...] {
                buckets.append(bucket((UInt64(concept) &+ 1) &* Kind.concept.rawValue))
                buckets.append(bucket(last &* Kind.wordBeforeConcept.rawValue ^ UInt64(concept)))
                for earlier in concepts[starts[max(0, starts.count - 1 - conceptDistance)]..<(starts.last ?? 0)] where earlier != concept {
                    buckets.append(bucket((UInt64(earlier) << 8 | UInt64(concept)) &* Kind.conceptPair.rawValue))
                }
            }
            buckets.append(bucket(token.hash ^ Kind.word.rawValue))
            buckets.append(bucket(last &* Kind.pair.rawValue ^ token.hash))
            if lastButOne != 0 { buckets.append(bucket(lastButOne &* Kind.skippedPair.rawValue ^ token.hash)) }
            (lastButOne, last) = (last, token.hash)
            appendNgrams(word.prefix(longestWord), to: &buckets)
            ends.append(buckets.count)
        }
        return (buckets, ends)
    }

    private static func appendNgrams(_ word: ArraySlice<UInt8>, to buckets: inout [UInt16]) {
        let space = UInt8(ascii: " ")
        for start in (word.startIndex - 1)..<word.endIndex {
            var hash = WordHash()
            for offset in 0..<ngramLengths.upperBound {
                let index = start + offset
                guard index <= word.endIndex else { break }
                hash.add(word.indices.contains(index) ? word[index] : space)
                if ngramLengths.contains(offset + 1) { buckets.append(bucket(hash.value)) }
            }
        }
    }

    /// The finaliser of MurmurHash3, of which the upper bits are used.
    private static func bucket(_ hash: UInt64) -> UInt16 {
        let mixed = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        return UInt16(truncatingIfNeeded: (mixed ^ mixed >> 33) >> 20)
    }
}
