/// Work that is done in pieces, so that nothing else on the reactor's thread waits for all of it.
public protocol DeferredWork: AnyObject {
    /// Does the next piece: one whose size is bounded, such as one read. What is left is given to `continueLater` again.
    func continueWork()
}

/// Deferred work, first in, first out. Pure.
struct DeferredQueue {
    private var first: [any DeferredWork] = []
    /// Of `first`, how many were taken.
    private var taken = 0
    private var added: [any DeferredWork] = []

    var isEmpty: Bool { count == 0 }
    var count: Int { first.count - taken + added.count }

    mutating func append(_ work: any DeferredWork) { added.append(work) }

    mutating func popFirst() -> (any DeferredWork)? {
        if first.isEmpty { swap(&first, &added) }
        guard taken < first.count else { return nil }
        let work = first[taken]
        taken += 1
        if taken == first.count {
            first.removeAll(keepingCapacity: true)
            taken = 0
        }
        return work
    }
}
