import CoachCore
import Foundation
import PostgresClient

extension PersonaSharing {
    /// Share links in PostgreSQL, as role `coach_gateway` bound to the caller.
    /// - Parameter newToken: makes an unguessable token.
    public static func postgres(
        client: PostgresClient, newToken: @escaping @Sendable () -> String = ShareLink.randomToken
    ) -> PersonaSharing {
        PersonaSharing(
            links: { caller, id, request in try await client.shareLinks(of: id, of: caller, request) },
            create: { caller, persona, id, draft in try await client.createShareLink(id, newToken(), draft, of: persona, by: caller) },
            revoke: { caller, persona, id in
                let update: Query = """
                    update public.share_links l set revoked_at = now() from public.coaching_personas p
                    where l.id = \(id) and l.persona_id = \(persona) and l.user_id = \(caller.userID) and l.revoked_at is null
                        and p.id = l.persona_id and p.deleted_at is null
                    returning 1
                    """
                try await client.change(update, for: caller)
            },
            redeem: { caller, token in
                let call: Query = "gateway.redeem_share_link(\(caller.userID), \(token))"
                return PersonaID(try await client.call(call, for: caller, as: UUID?.self).orNotFound())
            },
            shared: { token in try await client.sharedPersona(token) },
            persona: { caller, id in
                try await client.conversationPersona("gateway.persona_of_conversation(\(caller.userID), \(id))", for: caller)
            },
            acceptVersion: { caller, id in
                try await client.conversationPersona("gateway.accept_persona_version(\(caller.userID), \(id))", for: caller)
            },
            withdraw: { caller, id, reason, requestID in
                let query: Query = "select operator.unpublish_persona(\(id), \(reason), \(requestID))"
                return try await client.operatorQuery(query, for: caller) { rows in try rows.only { row in try row.value(0) } }
            })
    }
}

extension PersonaSharing {
    /// Selects the published persona of a link, if a new user could redeem that: no row, or one with the columns of `PublishedPersona`.
    static func shared(by token: String) -> Query {
        """
        select p.id, p.slug, p.published_at, v.version, v.name, v.description, v.domain, v.starters, v.languages
        from public.share_links l
        join public.coaching_personas p on p.id = l.persona_id and p.status = 'published' and p.deleted_at is null
        join public.persona_versions v on v.persona_id = p.id and v.version = p.published_version
        where l.token = \(token) and l.revoked_at is null and (l.expires_at is null or l.expires_at > now())
            and (l.max_uses is null or l.uses < l.max_uses)
        """
    }
}

extension ShareLink {
    /// A new token: 192 random bits in base64url, so that it cannot be guessed.
    public static func randomToken() -> String { Base64URL.encode([UInt8].random(count: 24)) }

    fileprivate static let columns: Query = """
        l.id, l.token, l.label, l.max_uses, (extract(epoch from l.expires_at) * 1000000)::bigint, l.uses, \
        (extract(epoch from l.created_at) * 1000000)::bigint
        """

    fileprivate init(row: borrowing Row) throws {
        self.init(
            id: try row.value(0), token: try row.value(1),
            draft: ShareLinkDraft(label: try row.value(2), maximumUses: try row.value(3), expiresAt: try row.date(4)),
            uses: try row.value(5), createdAt: Date(microseconds: try row.value(6)))
    }
}

extension PostgresClient {
    fileprivate func shareLinks(of id: PersonaID, of caller: Caller, _ request: PageRequest) async throws -> Page<ShareLink> {
        var page: Query = "select * from public.share_links where persona_id = p.id and revoked_at is null"
        if let cursor = try request.pageCursor { page.append(" and (created_at, id) < (\(try cursor.timestamp), \(cursor.id))") }
        page.append(" order by created_at desc, id desc limit \(request.limit + 1)")
        // The result is one row of NULLs for a persona without links, and empty when the persona does not exist.
        let query: Query = """
            select \(ShareLink.columns) from public.coaching_personas p left join lateral (\(page)) l on true
            where p.id = \(id) and p.user_id = \(caller.userID) and p.deleted_at is null order by l.created_at desc, l.id desc
            """
        let found = try await gatewayRows(query, for: caller) { row in
            try row.value(0, as: UUID?.self) == nil ? nil : try ShareLink(row: row)
        }
        if found.isEmpty { throw Rejection(reason: .notFound) }
        return Page(found.compactMap { $0 }, limit: request.limit) { PageCursor(key: $0.createdAt.microseconds, id: $0.id.uuid) }
    }

    fileprivate func createShareLink(
        _ id: ShareLinkID, _ token: String, _ draft: ShareLinkDraft, of persona: PersonaID, by caller: Caller
    ) async throws -> ShareLink {
        let hasRoom: Query = """
            (select count(*) < 1000 and count(*) filter (where l.revoked_at is null) < 100
            from public.share_links l where l.persona_id = p.id)
            """
        let insert: Query = """
            insert into public.share_links (id, persona_id, user_id, token, label, max_uses, expires_at)
            select \(id), p.id, p.user_id, \(token), \(draft.label), \(draft.maximumUses)::integer,
                timestamptz 'epoch' + \(draft.expiresAt?.microseconds)::bigint * interval '1 microsecond'
            from public.coaching_personas p
            where p.id = \(persona) and p.user_id = \(caller.userID) and p.deleted_at is null and \(hasRoom)
            on conflict do nothing
            """
        let query: Query = """
            select \(ShareLink.columns) from public.share_links l join public.coaching_personas p on p.id = l.persona_id
            where l.id = \(id) and l.persona_id = \(persona) and l.user_id = \(caller.userID) and p.deleted_at is null
            """
        if let link = try await gatewayRows(insert, query, for: caller, decode: { try ShareLink(row: $0) }).first { return link }
        let owned: Query = """
            select 1 from public.coaching_personas p where p.id = \(persona) and p.user_id = \(caller.userID) and p.deleted_at is null
            """
        let isOwned = try await !gatewayRows(owned, for: caller, decode: { try $0.value(0, as: Int.self) }).isEmpty
        throw Rejection(reason: isOwned ? .tooManyItems : .notFound)
    }

    fileprivate func sharedPersona(_ token: String) async throws -> PublishedPersona? {
        let query: Query = "select \(PublishedPersona.columns) from (\(PersonaSharing.shared(by: token))) shared"
        return try await StoreFault.translating {
            try await self.query(query) { rows in try rows.map { row in try PublishedPersona(row: row) }.first }
        }
    }

    fileprivate func conversationPersona(_ call: Query, for caller: Caller) async throws -> ConversationPersona {
        let text = try await self.call(call, for: caller, as: String?.self).orNotFound()
        return try StoredJSON.decode(ConversationPersona.self, from: text)
    }
}
