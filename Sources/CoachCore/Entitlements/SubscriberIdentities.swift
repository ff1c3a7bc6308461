/// Which ids belong to one subscriber: a union-find over the ids that occur together in events. The union of a set of links does not
/// depend on their order.
struct SubscriberIdentities: Equatable {
    private var parents: [SubscriberID: SubscriberID] = [:]
    /// Numbers of ids, by root: the smaller tree is put under the larger one, so that the way to a root has at most log2(n) steps.
    private var sizes: [SubscriberID: Int] = [:]
    /// Roots of the subscribers that have at least one id of a user.
    private var usersRoots: Set<SubscriberID> = []

    /// The representative of the subscriber's ids; the id itself when it is unknown. Which one it is depends on the order of the links.
    func root(_ id: SubscriberID) -> SubscriberID {
        var id = id
        while let parent = parents[id], parent != id { id = parent }
        return id
    }

    /// Records that all ids belong to one subscriber.
    mutating func link(_ ids: [SubscriberID]) {
        for id in ids { insert(id) }
        for id in ids.dropFirst() { union(root(ids[0]), root(id)) }
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
        sizes[id] = 1
        if id.userID != nil { usersRoots.insert(id) }
    }

    private mutating func union(_ a: SubscriberID, _ b: SubscriberID) {
        guard a != b else { return }
        let (sizeOfA, sizeOfB) = (sizes[a] ?? 1, sizes[b] ?? 1)
        let (root, child) = sizeOfA >= sizeOfB ? (a, b) : (b, a)
        parents[child] = root
        sizes[child] = nil
        sizes[root] = sizeOfA + sizeOfB
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

    /// Whether both have the same subscribers, whatever their roots are.
    static func == (a: Self, b: Self) -> Bool {
        guard a.parents.count == b.parents.count, a.sizes.count == b.sizes.count else { return false }
        var roots: [SubscriberID: SubscriberID] = [:]
        for id in a.parents.keys {
            guard b.parents[id] != nil else { return false }
            let root = b.root(id)
            // With equal numbers of subscribers, each of `a` lying within one of `b` makes them the same.
            if roots.updateValue(root, forKey: a.root(id)) ?? root != root { return false }
        }
        return true
    }
}
