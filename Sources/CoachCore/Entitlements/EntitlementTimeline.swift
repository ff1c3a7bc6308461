/// The state of one subscriber at every instant, as the known events imply it: what a fold leaves for readers that have no events.
public struct EntitlementTimeline: Equatable, Sendable {
    public struct Segment: Equatable, Sendable {
        /// nil for the first segment.
        public var from: BillingInstant?
        public var state: EntitlementState
    }

    /// In order of time; the state of a segment differs from that of the one before.
    public let segments: [Segment]

    /// The timeline of a subscriber without events.
    public static let none = Self(segments: [Segment(from: nil, state: .none)])

    init(segments: [Segment]) { self.segments = segments }

    init(of subscriber: SubscriberID, in fold: EntitlementFold, includingSandbox: Bool) {
        var segments = [Segment(from: nil, state: fold.state(of: subscriber, at: .first, includingSandbox: includingSandbox))]
        for instant in fold.boundaries {
            let state = fold.state(of: subscriber, at: instant, includingSandbox: includingSandbox)
            if state != segments.last?.state { segments.append(Segment(from: instant, state: state)) }
        }
        self.segments = segments
    }

    public func state(at instant: BillingInstant) -> EntitlementState {
        segments.last { $0.from.map { $0 <= instant } ?? true }?.state ?? .none
    }
}

/// What is stored of one user after a fold.
public struct FoldedEntitlements: Equatable, Sendable {
    public let userID: UserID
    public let timeline: EntitlementTimeline
    /// Until when each entitlement opens the gate (`EntitlementState.accessUntil`), by paid purchases. The name is empty for access without a
    /// named entitlement.
    public let paidUntil: [String: Expiry]
    /// The same, by trials: they can give another tier.
    public let trialUntil: [String: Expiry]
}

extension EntitlementFold {
    /// What to store for each of these ids that is a user's. Users who lost everything are included, so that their rows are overwritten.
    public func entitlements(of ids: some Sequence<SubscriberID>, includingSandbox: Bool) -> [FoldedEntitlements] {
        ids.compactMap { id in
            id.userID.map {
                FoldedEntitlements(
                    userID: $0, timeline: EntitlementTimeline(of: id, in: self, includingSandbox: includingSandbox),
                    paidUntil: accessUntil(of: id, isTrial: false, includingSandbox: includingSandbox),
                    trialUntil: accessUntil(of: id, isTrial: true, includingSandbox: includingSandbox))
            }
        }
    }

    private func accessUntil(of subscriber: SubscriberID, isTrial: Bool, includingSandbox: Bool) -> [String: Expiry] {
        var result: [String: Expiry] = [:]
        for purchase in purchases where purchase.period.isTrial == isTrial && isSame(purchase.owner, subscriber) {
            guard includingSandbox || purchase.reference.environment == .production else { continue }
            let names = purchase.period.entitlements.isEmpty ? [nil] : purchase.period.entitlements.map(Optional.some)
            for name in names {
                guard let until = purchase.state(of: name, at: .first).accessUntil else { continue }
                result[name ?? ""] = max(result[name ?? ""] ?? until, until)
            }
        }
        return result
    }
}
