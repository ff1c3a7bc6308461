/// All patterns of the output rules as one bit-parallel automaton over words (extended shift-and, Navarro and Raffinot 2002, §4.2), with one bit
/// per position. 64 positions are a lane. A word costs a few operations for each lane that is active or has a pattern that begins with the word.
struct WordAutomaton {
    /// Gives each pattern its positions, in order. No pattern is across two lanes.
    private struct LanePlacement {
        private(set) var laneCount = 0
        private var usedInLast = UInt64.bitWidth

        /// The first of `length` positions in one lane.
        mutating func place(_ length: Int) -> Int {
            if usedInLast + length > UInt64.bitWidth {
                laneCount += 1
                usedInLast = 0
            }
            defer { usedInLast += length }
            return (laneCount - 1) * UInt64.bitWidth + usedInLast
        }
    }

    /// The bits of 64 positions.
    private struct Lane {
        /// First positions of patterns. A shift must not enter them from the pattern before.
        var first: UInt64 = 0
        var optional: UInt64 = 0
        /// The position before each run of optional positions.
        var beforeRun: UInt64 = 0
        /// The last position of each run of optional positions.
        var endOfRun: UInt64 = 0
        /// Positions from which a match is held.
        var held: UInt64 = 0
        /// Last positions of patterns that may end anywhere.
        var last: UInt64 = 0
        /// Last positions of patterns that end with the sentence.
        var lastInSentence: UInt64 = 0
        /// Positions before last ones, with which a pattern may end where a clause or the sentence ends.
        var lastInClause: UInt64 = 0
        /// First positions of patterns that start at any word.
        var starts: UInt64 = 0
        /// First positions of patterns that start at any word of a statement (`SentenceContext.isStatement`).
        var startsClaim: UInt64 = 0
        /// First positions of patterns that start at the first word of a sentence.
        var startsFirst: UInt64 = 0
        /// First positions of patterns that start at the first word of a statement.
        var startsClaimFirst: UInt64 = 0
    }

    private var lanes: [Lane] = []
    /// What each pattern finds, by the positions with which it may end.
    private var findings: [Int: OutputRules.Finding] = [:]
    /// For each word, then for each lane, the positions that take the word. After the known words: the unknown word and the number.
    private var accepting: [UInt64] = []
    /// For each word the lanes with a pattern that starts with it, one bit each.
    private var beginning: [UInt64] = []
    /// Words that can be held.
    private var canBeHeld: [Bool] = []

    /// The state of one sentence.
    struct State: Sendable {
        fileprivate(set) var active: [UInt64] = []
        /// The lanes with an active position, one bit each. The others are 0 in `active`.
        fileprivate(set) var live: UInt64 = 0
        /// Whether the last words may still become a match that is held.
        fileprivate(set) var isHeld = false

        mutating func reset() {
            while live != 0 {
                active[live.trailingZeroBitCount] = 0
                live &= live - 1
            }
            isHeld = false
        }
    }

    let unknownWord: Int
    let number: Int

    init(_ rules: OutputRules, words: [String]) {
        unknownWord = words.count
        number = words.count + 1
        let indices = Dictionary(uniqueKeysWithValues: words.enumerated().map { ($1, $0) })
        let negations = Set(rules.negations.compactMap { indices[$0] })
        var takers: [[Int]] = Array(repeating: [], count: words.count + 2)
        func wordIndices(_ alternative: WordPattern.Alternative) -> [Int] {
            switch alternative {
            case .phrase(let phrase): [indices[phrase]].compactMap(\.self)
            case .wordClass(OutputRules.number): [number]
            case .wordClass(let name): (rules.classes[name] ?? []).compactMap { indices[$0] }
            }
        }
        var placement = LanePlacement()
        for rule in WordAutomaton.inPlacementOrder(rules.rules) {
            var position = placement.place(WordAutomaton.length(of: rule.pattern))
            while lanes.count < placement.laneCount { lanes.append(Lane()) }
            let start = position
            for (index, element) in rule.pattern.elements.enumerated() {
                for skipped in 0..<element.gap.upperBound {
                    for word in takers.indices where !negations.contains(word) { takers[word].append(position) }
                    if skipped >= element.gap.lowerBound { set(\.optional, position) }
                    if index > rule.heldFrom { set(\.held, position) }
                    position += 1
                }
                for word in Set(element.alternatives.flatMap(wordIndices)) { takers[word].append(position) }
                if element.optional { set(\.optional, position) }
                if index >= rule.heldFrom { set(\.held, position) }
                position += 1
            }
            set(\.first, start)
            set(WordAutomaton.starts(of: rule), start)
            set(rule.pattern.endsSentence ? \.lastInSentence : \.last, position - 1)
            findings[position - 1] = rule.finding
            if rule.mayEndEarlier {
                set(\.lastInClause, position - 2)
                findings[position - 2] = rule.finding
            }
        }
        markOptionalRuns()
        for positions in takers {
            var bits = [UInt64](repeating: 0, count: lanes.count)
            for position in positions { bits[position >> 6] |= 1 << UInt64(position & 63) }
            beginning.append(bits.indices.reduce(0) { bits[$1] & lanes[$1].first == 0 ? $0 : $0 | 1 << UInt64($1) })
            canBeHeld.append(bits.indices.contains { bits[$0] & lanes[$0].held != 0 })
            accepting += bits
        }
    }

    /// The bits of a lane that say where this rule may start.
    private static func starts(of rule: OutputRules.Rule) -> WritableKeyPath<Lane, UInt64> {
        switch (rule.pattern.startsSentence, rule.kind.isClaim) {
        case (false, false): \.starts
        case (false, true): \.startsClaim
        case (true, false): \.startsFirst
        case (true, true): \.startsClaimFirst
        }
    }

    private mutating func markOptionalRuns() {
        for lane in lanes.indices {
            let optional = lanes[lane].optional
            lanes[lane].beforeRun = optional >> 1 & ~optional
            lanes[lane].endOfRun = optional & ~(optional >> 1)
        }
    }

    /// A set of lanes is one integer.
    static let maximumLanes = UInt64.bitWidth

    /// The rules by their first words, so that few lanes have a pattern that begins with a word: each of them costs time for every such word.
    private static func inPlacementOrder(_ rules: [OutputRules.Rule]) -> [OutputRules.Rule] {
        let firstWords = rules.map { rule in
            (rule.pattern.elements.first?.alternatives ?? []).map { alternative in
                switch alternative {
                case .phrase(let word): word
                case .wordClass(let name): name
                }
            }.sorted()
        }
        return rules.indices.sorted {
            firstWords[$0] == firstWords[$1] ? $0 < $1 : firstWords[$0].lexicographicallyPrecedes(firstWords[$1])
        }.map { rules[$0] }
    }

    /// The number of lanes that the patterns of these rules take.
    static func laneCount(of rules: [OutputRules.Rule]) -> Int {
        var placement = LanePlacement()
        for rule in inPlacementOrder(rules) { _ = placement.place(length(of: rule.pattern)) }
        return placement.laneCount
    }

    /// The number of positions of a pattern; a lane has 64.
    static func length(of pattern: WordPattern) -> Int { pattern.elements.reduce(0) { $0 + $1.gap.upperBound + 1 } }

    private mutating func set(_ bits: WritableKeyPath<Lane, UInt64>, _ position: Int) {
        lanes[position >> 6][keyPath: bits] |= 1 << UInt64(position & 63)
    }

    // MARK: Matching

    /// Takes the next word of a sentence; returns what the patterns that end with it find.
    func take(_ word: Int, _ sentence: SentenceContext, _ state: inout State) -> OutputRules.Finding? {
        var affected = state.live | beginning[word]
        guard affected != 0 else { return nil }
        if state.active.isEmpty { state.active = [UInt64](repeating: 0, count: lanes.count) }
        var any: (live: UInt64, held: UInt64, last: UInt64) = (0, 0, 0)
        lanes.withUnsafeBufferPointer { lanes in
            accepting.withUnsafeBufferPointer { accepting in
                state.active.withUnsafeMutableBufferPointer { active in
                    let accepted = word &* lanes.count
                    while affected != 0 {
                        let lane = affected.trailingZeroBitCount
                        affected &= affected - 1
                        var bits = entered(lanes[lane], active[lane], sentence) & accepting[accepted &+ lane]
                        if bits != 0 {
                            // Steps over optional positions.
                            let filled = bits | lanes[lane].endOfRun
                            bits |= lanes[lane].optional & (~(filled &- lanes[lane].beforeRun) ^ filled)
                            any.live |= 1 << UInt64(lane)
                            any.held |= bits & lanes[lane].held
                            any.last |= bits & lanes[lane].last
                        }
                        active[lane] = bits
                    }
                }
            }
        }
        state.live = any.live
        state.isHeld = any.held != 0
        return any.last == 0 ? nil : finding(state) { $0.last }
    }

    /// What the patterns that end with the sentence find.
    func endSentence(_ state: State) -> OutputRules.Finding? { state.isHeld ? finding(state) { $0.lastInSentence | $0.lastInClause } : nil }

    /// What the patterns that end with a clause find.
    func endClause(_ state: State) -> OutputRules.Finding? { state.isHeld ? finding(state) { $0.lastInClause } : nil }

    /// Whether one of the words may be the next of a match that is held.
    func mayHold(_ words: Range<Int>, _ sentence: SentenceContext, _ state: State) -> Bool {
        words.contains { word in
            guard canBeHeld[word] else { return false }
            var affected = state.live | beginning[word]
            while affected != 0 {
                let lane = affected.trailingZeroBitCount
                affected &= affected - 1
                let bits = entered(lanes[lane], state.live == 0 ? 0 : state.active[lane], sentence)
                if bits & accepting[word * lanes.count + lane] & lanes[lane].held != 0 { return true }
            }
            return false
        }
    }

    /// Positions of a lane that the next word may enter.
    private func entered(_ lane: Lane, _ active: UInt64, _ sentence: SentenceContext) -> UInt64 {
        var bits = active << 1 & ~lane.first | lane.starts
        if sentence.isFirstWord { bits |= lane.startsFirst }
        guard sentence.isStatement else { return bits }
        bits |= lane.startsClaim
        return sentence.isFirstWord ? bits | lane.startsClaimFirst : bits
    }

    /// What the first pattern finds that is at one of its `last` positions, with the languages of all of its kind: patterns of related languages may
    /// match the same words.
    private func finding(_ state: State, _ last: (Lane) -> UInt64) -> OutputRules.Finding? {
        var found: OutputRules.Finding?
        var live = state.live
        while live != 0 {
            let lane = live.trailingZeroBitCount
            live &= live - 1
            var bits = state.active[lane] & last(lanes[lane])
            while bits != 0 {
                let position = lane * UInt64.bitWidth + bits.trailingZeroBitCount
                bits &= bits - 1
                guard let finding = findings[position] else { continue }
                if found == nil { found = finding }
                if found?.kind == finding.kind { found?.languages.formUnion(finding.languages) }
            }
        }
        return found
    }
}
