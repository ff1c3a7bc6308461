import CoachCore

extension [ModelChoice] {
    /// One of so many calls begins with a random choice of its neighbours, which shows whether that choice has become faster.
    static let callsPerExploration = 20

    /// The choices, with neighbours that want the least latency in the order of their mean times to the first text. A choice without a time comes first,
    /// so that it gets one.
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
