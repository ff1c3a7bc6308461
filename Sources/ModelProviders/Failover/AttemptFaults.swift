import CoachCore

/// The faults of the failed attempts of one call, after which the call went on.
struct AttemptFaults: Equatable {
    private var faults: [ModelFault] = []

    var last: ModelFault? { faults.last }

    mutating func append(_ fault: ModelFault) { faults.append(fault) }

    /// The fault of the call, which ends with `last`. It has the kind of `last`, all details, and the shortest pause if each fault names one.
    func merged(with last: ModelFault) -> ModelFault {
        let all = faults + [last]
        let pauses = all.compactMap(\.retryAfter)
        return ModelFault(
            kind: last.kind, detail: all.map(\.detail).joined(separator: "; "),
            retryAfter: pauses.count == all.count ? pauses.min() : nil)
    }
}
