import CoachCore

extension ConversationStore {
    /// What the core sees.
    public var repository: ConversationRepository {
        ConversationRepository(
            list: { caller, page in try await list(caller, limit: page.limit, cursor: page.cursor, updatedSince: page.updatedSince) },
            get: { caller, id in try await get(caller, id) },
            create: { caller, draft in
                try await create(caller, title: draft.title, domain: draft.domain, personaID: draft.personaID)
            },
            patch: { caller, id, change in try await patch(caller, id, change) },
            delete: { caller, id in try await delete(caller, id) },
            messages: { caller, id, page in
                try await messages(caller, id, limit: page.limit, cursor: page.cursor, updatedSince: page.updatedSince)
            })
    }
}

extension RequestStore {
    /// What the core sees. `perMinute` is asked at every request, so that a reloaded configuration holds at once.
    public func counter(perMinute: @escaping @Sendable () -> Int) -> RequestCounter {
        RequestCounter { caller in
            let answer = try await take(caller, perMinute: perMinute())
            let reason: Rejection.Reason
            switch answer.outcome {
            case .taken:
                return CountedRequest(
                    rate: answer.rate, safetyLevel: answer.safetyLevel, region: answer.region)
            case .rateLimited: reason = .rateLimited
            case .suspended: reason = .suspended
            }
            throw CountedRejection(
                rejection: Rejection(
                    reason: reason, retryAfter: answer.retryAfter, safetyLevel: answer.safetyLevel, region: answer.region),
                rate: answer.rate)
        }
    }
}
