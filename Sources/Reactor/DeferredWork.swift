/// Long work that runs in bounded pieces, so that sockets and timers on the reactor's thread are served between them. Started by
/// `Reactor.continueLater`.
public protocol DeferredWork: AnyObject {
    /// Does one piece of bounded size, such as one read. Called once for each `continueLater`; while work is left, the implementation
    /// passes itself to `continueLater` again.
    func continueWork()
}

/// A first-in, first-out queue of deferred work. Two arrays, so that appending and removing keep their capacity. Pure.
struct DeferredQueue {
    private var first: [any DeferredWork] = []
    /// How many elements of `first` were removed.
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
