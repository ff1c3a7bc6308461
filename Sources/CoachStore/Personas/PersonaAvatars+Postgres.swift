import CoachCore
import PostgresClient

extension PersonaAvatars {
    /// Avatars in PostgreSQL, as role `coach_gateway` bound to the caller.
    public static func postgres(client: PostgresClient) -> PersonaAvatars {
        PersonaAvatars(
            get: { caller, id in
                let query: Query = """
                    select a.format, a.content from public.persona_avatars a
                    where a.persona_id = \(id) and (
                        exists (select from public.published_personas p where p.id = a.persona_id)
                        or exists (
                            select from public.coaching_personas p
                            where p.id = a.persona_id and p.user_id = \(caller.userID) and p.deleted_at is null))
                    """
                return try await client.gatewayRows(query, for: caller) { try AvatarImage(row: $0, at: 0) }.first.orNotFound()
            },
            shared: { token in
                let query: Query = """
                    select a.format, a.content from public.persona_avatars a
                    where a.persona_id = (select s.id from (\(PersonaSharing.shared(by: token))) s)
                    """
                return try await StoreFault.translating {
                    try await client.query(query) { rows in try rows.map { row in try AvatarImage(row: row, at: 0) }.first }
                }
            },
            hasShared: { token in
                let query: Query = """
                    select exists (
                        select from public.persona_avatars a where a.persona_id = (select s.id from (\(PersonaSharing.shared(by: token))) s))
                    """
                return try await StoreFault.translating { try await client.value(of: query) }
            },
            put: { caller, id, image in
                let upsert: Query = """
                    insert into public.persona_avatars as a (persona_id, format, content)
                    select p.id, \(image.format.rawValue), \(image.bytes) from public.coaching_personas p
                    where p.id = \(id) and p.user_id = \(caller.userID) and p.deleted_at is null
                    on conflict (persona_id) do update set format = excluded.format, content = excluded.content
                    returning 1
                    """
                try await client.change(upsert, for: caller)
            },
            delete: { caller, id in
                let delete: Query = """
                    delete from public.persona_avatars a using public.coaching_personas p
                    where a.persona_id = \(id) and p.id = a.persona_id and p.user_id = \(caller.userID) and p.deleted_at is null
                    returning 1
                    """
                try await client.change(delete, for: caller)
            })
    }
}

extension AvatarImage {
    /// From the columns `format` and `content`.
    init(row: borrowing Row, at first: Int) throws {
        guard let format = Format(rawValue: try row.value(first)) else { throw StoreFault.unexpected("an avatar has an unknown format") }
        self.init(stored: try row.value(first + 1), format: format)
    }
}
