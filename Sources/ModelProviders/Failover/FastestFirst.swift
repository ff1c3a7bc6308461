import CoachCore

extension [ModelChoice] {
    /// One call of so many begins with any choice of a run, so that one that has become faster is noticed.
    static let callsPerExploration = 20

    /// The same with each run of choices that want the least latency in the order of their mean times to the first text; one without a time comes
    /// first, because it has to be tried.
    func fastestFirst(_ mean: (ModelName) -> Duration?, using random: inout some RandomNumberGenerator) -> [ModelChoice] {
        guard contains(where: \.wantsLeastLatency) else { return self }
        var result: [ModelChoice] = []
        for run in runs {
            var sorted = run.enumerated().sorted {
                (mean($0.element.name) ?? .zero, $0.offset) < (mean($1.element.name) ?? .zero, $1.offset)
            }.map(\.element)
            if sorted.count > 1, Int.random(in: 0..<Self.callsPerExploration, using: &random) == 0 {
                sorted.swapAt(0, Int.random(in: 0..<sorted.count, using: &random))
            }
            result += sorted
        }
        return result
    }

    /// Neighbours that want the least latency together, each other choice alone.
    private var runs: [[ModelChoice]] {
        var runs: [[ModelChoice]] = []
        for choice in self {
            if choice.wantsLeastLatency, runs.last?.first?.wantsLeastLatency == true {
                runs[runs.count - 1].append(choice)
            } else {
                runs.append([choice])
            }
        }
        return runs
    }
}
