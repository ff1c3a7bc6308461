/// Which ids belong to one subscriber: a union-find over the ids that occur together in events. The union of a set of links does not
/// depend on their order.
struct SubscriberIdentities: Equatable {
    private var parents: [SubscriberID: SubscriberID] = [:]

    /// The representative of the subscriber's ids; the id itself when it is unknown.
    func root(_ id: SubscriberID) -> SubscriberID {
        var id = id
        while let parent = parents[id], parent != id { id = parent }
        return id
    }

    /// Records that all ids belong to one subscriber.
    mutating func link(_ ids: [SubscriberID]) {
        guard let first = ids.first else { return }
        for id in ids {
            if parents[id] == nil { parents[id] = id }
            let (a, b) = (root(first), root(id))
            // The smaller text becomes the root, so that equal sets of links have equal roots.
            if a != b {
                let isSmaller = a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
                parents[isSmaller ? b : a] = isSmaller ? a : b
            }
        }
    }

    /// Whether linking these ids would merge subscribers that are both known already.
    func wouldMerge(_ ids: [SubscriberID]) -> Bool {
        var known: SubscriberID?
        for id in ids where parents[id] != nil {
            let root = root(id)
            if let known, known != root { return true }
            known = root
        }
        return false
    }

    static func == (a: Self, b: Self) -> Bool {
        a.parents.count == b.parents.count && a.parents.keys.allSatisfy { b.parents[$0] != nil && a.root($0) == b.root($0) }
    }
}
