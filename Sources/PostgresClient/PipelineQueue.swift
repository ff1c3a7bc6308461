/// Groups of statements that were sent on one connection and are not yet answered, in order. Pure.
///
/// A group is some statements and one sync: the server treats it as one implicit transaction, and an error ends at the sync. The
/// acknowledgement of a group is its sync, not the result of its last statement, because the commit happens there.
struct PipelineQueue<Owner> {
    /// What libpq hands over in pipeline mode.
    enum Received {
        /// A statement succeeded.
        case result
        /// A statement failed; at the sync, the commit failed.
        case error
        /// A statement was skipped because one before it in the group failed.
        case aborted
        /// The NULL after each statement's result.
        case separator
        case sync
    }

    enum Action {
        case none
        /// A result for the group's owner; whether it is that of the last statement.
        case deliver(Owner, isLast: Bool)
        case fail(Owner)
        /// The group is over and has left the queue.
        case finished(Owner)
        /// Not possible in this state: the connection must be closed.
        case violation
    }

    private struct Group {
        let owner: Owner
        let statements: Int
        /// Statements answered so far; when all are, the sync is due.
        var answered = 0
        var awaitsSeparator = false
        var hasFailed = false
    }

    private var groups: [Group] = []
    private var first = 0

    var isEmpty: Bool { first == groups.count }

    /// Whether nothing of the head group has been received.
    var isBetweenGroups: Bool {
        isEmpty || groups[first].answered == 0 && !groups[first].awaitsSeparator && !groups[first].hasFailed
    }

    mutating func sent(_ owner: Owner, statements: Int) {
        groups.append(Group(owner: owner, statements: statements))
    }

    mutating func received(_ received: Received) -> Action {
        guard !isEmpty else { return .violation }
        let owner = groups[first].owner
        let isSyncDue = groups[first].answered == groups[first].statements
        switch received {
        case .result:
            guard !isSyncDue, !groups[first].awaitsSeparator else { return .violation }
            groups[first].awaitsSeparator = true
            return .deliver(owner, isLast: groups[first].answered == groups[first].statements - 1)
        case .error:
            guard !groups[first].awaitsSeparator else { return .violation }
            groups[first].awaitsSeparator = true
            guard !groups[first].hasFailed else { return .none }
            groups[first].hasFailed = true
            return .fail(owner)
        case .aborted:
            guard !isSyncDue, groups[first].hasFailed, !groups[first].awaitsSeparator else { return .violation }
            groups[first].awaitsSeparator = true
            return .none
        case .separator:
            guard groups[first].awaitsSeparator else { return .violation }
            groups[first].awaitsSeparator = false
            if !isSyncDue { groups[first].answered += 1 }
            return .none
        case .sync:
            // An error at the commit may or may not be followed by a separator.
            guard isSyncDue else { return .violation }
            removeFirst()
            return .finished(owner)
        }
    }

    /// The connection is lost: the remaining owners, in order.
    mutating func removeAll() -> [Owner] {
        defer {
            groups = []
            first = 0
        }
        return groups[first...].map(\.owner)
    }

    private mutating func removeFirst() {
        first += 1
        if first == groups.count {
            groups.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 64, first > groups.count / 2 {
            groups.removeSubrange(..<first)
            first = 0
        }
    }
}
