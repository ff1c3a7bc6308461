import CoachCore

extension ConversationStore {
    /// What the core sees.
    public var library: ConversationLibrary {
        ConversationLibrary(
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
            let (outcome, rate) = try await take(caller, perMinute: perMinute())
            switch outcome {
            case .taken: return rate
            case .rateLimited: throw CountedRefusal(refusal: Refusal(reason: .rateLimited), rate: rate)
            case .suspended: throw CountedRefusal(refusal: Refusal(reason: .suspended), rate: rate)
            }
        }
    }
}
