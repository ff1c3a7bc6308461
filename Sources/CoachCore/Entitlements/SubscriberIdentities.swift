/// Which ids belong to one subscriber: a union-find over the ids that occur together in events. The union of a set of links does not
/// depend on their order.
struct SubscriberIdentities: Equatable {
    private var parents: [SubscriberID: SubscriberID] = [:]
    /// Roots of the subscribers that have at least one id of a user.
    private var usersRoots: Set<SubscriberID> = []

    /// The representative of the subscriber's ids; the id itself when it is unknown.
    func root(_ id: SubscriberID) -> SubscriberID {
        var id = id
        while let parent = parents[id], parent != id { id = parent }
        return id
    }

    /// Records that all ids belong to one subscriber.
    mutating func link(_ ids: [SubscriberID]) {
        for id in ids {
            insert(id)
            union(root(ids[0]), root(id))
        }
    }

    /// Records that all ids belong to one subscriber, except for those by which two users would become one. The result depends on the order.
    mutating func linkWithoutMergingUsers(_ ids: [SubscriberID]) {
        for id in ids {
            insert(id)
            let (a, b) = (root(ids[0]), root(id))
            if !usersRoots.contains(a) || !usersRoots.contains(b) { union(a, b) }
        }
    }

    private mutating func insert(_ id: SubscriberID) {
        guard parents[id] == nil else { return }
        parents[id] = id
        if id.userID != nil { usersRoots.insert(id) }
    }

    private mutating func union(_ a: SubscriberID, _ b: SubscriberID) {
        guard a != b else { return }
        // The smaller text becomes the root, so that equal sets of links have equal roots.
        let isSmaller = a.text.utf8.lexicographicallyPrecedes(b.text.utf8)
        let (root, child) = isSmaller ? (a, b) : (b, a)
        parents[child] = root
        if usersRoots.remove(child) != nil { usersRoots.insert(root) }
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

    /// Whether linking these ids would add new ones to a subscriber that is known already.
    func wouldExtend(_ ids: [SubscriberID]) -> Bool {
        ids.contains { parents[$0] == nil } && ids.contains { parents[$0] != nil }
    }

    /// The known ids, by subscriber; in no order.
    var groups: [[SubscriberID]] { Array(Dictionary(grouping: parents.keys, by: root).values) }

    static func == (a: Self, b: Self) -> Bool {
        a.parents.count == b.parents.count && a.parents.keys.allSatisfy { b.parents[$0] != nil && a.root($0) == b.root($0) }
    }
}
