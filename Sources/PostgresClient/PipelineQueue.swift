/// The groups of statements that were sent on one connection in libpq's pipeline mode and are not yet answered, in order. It assigns each
/// result to its group. Pure.
///
/// A group is some statements followed by one sync. The server runs it as one implicit transaction: after an error it skips the statements
/// up to the sync. A group is acknowledged by its sync, not by the result of its last statement, because the commit happens at the sync.
struct PipelineQueue<Owner> {
    /// The kinds of results that libpq returns in pipeline mode.
    enum Received {
        /// A statement succeeded.
        case result
        /// A statement failed, or, after the last statement, the commit.
        case error
        /// A statement was skipped because one before it in the group failed.
        case aborted
        /// The NULL after each statement's result.
        case separator
        case sync
    }

    enum Action {
        case none
        /// A result of the group; `isLast`: of its last statement.
        case deliver(Owner, isLast: Bool)
        /// The group's first error. `finished` follows.
        case fail(Owner)
        /// The group ended, with success unless `fail` came before, and was removed from the queue.
        case finished(Owner)
        /// The protocol does not allow this result here: the connection must be closed.
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

    /// Whether no result of the first group has been received.
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
