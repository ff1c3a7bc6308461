extension [ModelChoice] {
    /// The choices, with neighbours that have weights in an order drawn by them: a choice of weight 3 comes first three times as often as one of weight 1.
    func drawn(using random: inout some RandomNumberGenerator) -> [ModelChoice] {
        guard contains(where: { $0.weight != nil }) else { return self }
        var result: [ModelChoice] = []
        var run: [ModelChoice] = []
        func draw() {
            while !run.isEmpty {
                var remainder = Int.random(in: 0..<run.reduce(0) { $0 + ($1.weight ?? 0) }, using: &random)
                let index = run.firstIndex { choice in
                    remainder -= choice.weight ?? 0
                    return remainder < 0
                }
                result.append(run.remove(at: index ?? 0))
            }
        }
        for choice in self {
            if choice.weight != nil {
                run.append(choice)
            } else {
                draw()
                result.append(choice)
            }
        }
        draw()
        return result
    }
}
