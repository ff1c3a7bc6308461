import CoachCore
import Foundation
import JSON
import PostgresClient

extension PersonaRepository {
    /// Personas in PostgreSQL. Drafts are read and written as role `authenticated` with the caller's claims, as with PostgREST; only
    /// functions of schema `gateway` change the status. `tiers` is called for every publication.
    public static func postgres(client: PostgresClient, tiers: @escaping @Sendable () -> TierBook) -> PersonaRepository {
        PersonaRepository(
            published: { caller, request in try await client.publishedPersonas(for: caller, request) },
            publishedOne: { caller, id in try await client.publishedPersona(for: caller, where: "id = \(id)") },
            publishedBySlug: { caller, slug in try await client.publishedPersona(for: caller, where: "slug = \(slug)") },
            own: { caller, request in try await client.ownPersonas(of: caller, request) },
            get: { caller, id in try await client.persona(id, of: caller) },
            create: { caller, id, content in try await client.createPersona(id, content, by: caller) },
            put: { caller, id, content, expected in
                try await client.changePersona(id, of: caller, expected) {
                    "update public.coaching_personas p set \(PersonaRecord.assignments) \(content.source) where p.user_id = \(caller.userID)"
                }
            },
            restore: { caller, id, version, expected in
                try await client.restorePersona(id, of: caller, to: version, expected)
            },
            card: { caller, id in try await client.personaCard(id, of: caller) },
            importCard: { caller, id, card, expected in try await client.importCard(card, into: id, of: caller, expected) },
            delete: { caller, id, expected in
                try await client.updatePersona(id, of: caller, expected) {
                    "update public.coaching_personas p set deleted_at = now() where p.user_id = \(caller.userID)"
                }
            },
            publish: { caller, id, revision, visibility, requestID in
                try await client.publishPersona(id, of: caller, revision, visibility, within: tiers(), requestID)
            },
            unpublish: { caller, id, expected, requestID in
                try await client.endPublication(of: id, by: caller, expected, requestID)
            },
            versions: { caller, id, request in try await client.personaVersions(id, of: caller, request) },
            version: { caller, id, version in try await client.personaVersion(id, version, of: caller) },
            statistics: { caller, id in try await client.personaStatistics(id, of: caller) })
    }
}

extension PostgresClient {
    /// Throws `Rejection` `notFound`.
    fileprivate func publishedPersona(for caller: Caller, where condition: Query) async throws -> PublishedPersona {
        let query: Query = "select \(PublishedPersona.columns) from public.published_personas where \(condition)"
        return try await userRows(query, for: caller) { try PublishedPersona(row: $0) }.first.orNotFound()
    }

    fileprivate func publishedPersonas(for caller: Caller, _ request: PageRequest) async throws -> Page<PublishedPersona> {
        let cursor = try request.pageCursor
        let before = try cursor.map { try $0.timestamp } ?? "'infinity'::timestamptz"
        let query: Query = """
            select p.* from gateway.published_page(
                \(caller.userID), \(before), \(cursor?.id)::uuid, \(request.limit + 1)::integer) k
            -- The limit makes it a look-up by id each, whatever the planner thinks of how many the user may see.
            cross join lateral (select \(PublishedPersona.columns) from public.published_personas where id = k.id limit 1) p
            order by k.published_at desc, k.id desc
            """
        let found = try await gatewayRows(query, for: caller) { try PublishedPersona(row: $0) }
        return Page(found, limit: request.limit) { PageCursor(key: $0.publishedAt.microseconds, id: $0.id.uuid) }
    }

    fileprivate func ownPersonas(of caller: Caller, _ request: PageRequest) async throws -> Page<PersonaRecord> {
        var query: Query = """
            select \(PersonaRecord.columns) from public.coaching_personas where user_id = \(caller.userID) and deleted_at is null
            """
        if let cursor = try request.pageCursor { query.append(" and (created_at, id) < (\(try cursor.timestamp), \(cursor.id))") }
        query.append(" order by created_at desc, id desc limit \(request.limit + 1)")
        let found = try await userRows(query, for: caller) { try PersonaRecord(row: $0) }
        return Page(found, limit: request.limit) { PageCursor(key: $0.createdAt.microseconds, id: $0.id.uuid) }
    }

    fileprivate func persona(_ id: PersonaID, of caller: Caller) async throws -> PersonaRecord {
        let query: Query = """
            select \(PersonaRecord.columns) from public.coaching_personas
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """
        return try await userRows(query, for: caller) { try PersonaRecord(row: $0) }.first.orNotFound()
    }

    fileprivate func createPersona(_ id: PersonaID, _ content: PersonaContent, by caller: Caller) async throws -> PersonaRecord {
        do {
            _ = try await userRows(
                """
                insert into public.coaching_personas
                    (id, user_id, name, description, domain, tone, methodology, personality, starters, languages)
                select \(id), \(caller.userID), \(PersonaRecord.values) \(content.source)
                on conflict on constraint coaching_personas_pkey do nothing returning 1
                """, for: caller
            ) { try $0.value(0, as: Int.self) }
        } catch let error as PostgresError where error.constraint == "coaching_personas_quota" {
            throw Rejection(reason: .tooManyItems)
        } catch let error as PostgresError where error.sqlState == SQLState.insufficientPrivilege {
            throw NotAllowed()
        }
        return try await persona(id, of: caller)
    }

    /// As `updatePersona`, with the persona after the change.
    fileprivate func changePersona(
        _ id: PersonaID, of caller: Caller, _ expected: [Int64]?, _ update: () -> Query
    ) async throws -> PersonaRecord {
        try await updatePersona(id, of: caller, expected, update)
        return try await persona(id, of: caller)
    }

    /// - Parameter update: of rows `p`, without the conditions on id and revision.
    fileprivate func updatePersona(
        _ id: PersonaID, of caller: Caller, _ expected: [Int64]?, _ update: () -> Query
    ) async throws {
        var update = update()
        update.append(" and p.id = \(id) and p.deleted_at is null")
        if let expected { update.append(" and p.revision::bigint = any (\(expected))") }
        update.append(" returning 1")
        let changed = try await userRows(update, for: caller) { try $0.value(0, as: Int.self) }
        guard changed.isEmpty else { return }
        // Throws `notFound` if the persona does not exist; otherwise it has another revision.
        _ = try await persona(id, of: caller)
        throw StaleVersion()
    }

    fileprivate func personaVersions(_ id: PersonaID, of caller: Caller, _ request: PageRequest) async throws -> Page<PersonaVersion> {
        _ = try await persona(id, of: caller)
        var query: Query = "select \(PersonaVersion.columns) from public.persona_versions where persona_id = \(id)"
        if let cursor = try request.pageCursor { query.append(" and version::bigint < \(cursor.key)") }
        query.append(" order by version desc limit \(request.limit + 1)")
        let found = try await userRows(query, for: caller) { try PersonaVersion(row: $0) }
        return Page(found, limit: request.limit) { PageCursor(key: Int64($0.version), id: id.uuid) }
    }

    fileprivate func personaVersion(_ id: PersonaID, _ version: Int, of caller: Caller) async throws -> PersonaVersion? {
        _ = try await persona(id, of: caller)
        return try await userRows(
            """
            select \(PersonaVersion.columns) from public.persona_versions where persona_id = \(id) and version::bigint = \(version)
            """, for: caller
        ) { try PersonaVersion(row: $0) }.first
    }

    fileprivate func restorePersona(
        _ id: PersonaID, of caller: Caller, to version: Int, _ expected: [Int64]?
    ) async throws -> PersonaRecord {
        guard try await personaVersion(id, version, of: caller) != nil else { throw UnknownVersion() }
        return try await changePersona(id, of: caller, expected) {
            """
            update public.coaching_personas p
            set name = v.name, description = v.description, domain = v.domain, tone = v.tone, methodology = v.methodology,
                personality = v.personality, starters = v.starters, languages = v.languages
            from public.persona_versions v where v.persona_id = p.id and v.version = \(version) and p.user_id = \(caller.userID)
            """
        }
    }

    fileprivate func personaCard(_ id: PersonaID, of caller: Caller) async throws -> JSONValue? {
        let query: Query = """
            select card from public.coaching_personas
            where user_id = \(caller.userID) and id = \(id) and deleted_at is null
            """
        let found = try await userRows(query, for: caller) { try $0.value(0, as: String?.self) }.first.orNotFound()
        return try found.map { try .stored($0) }
    }

    fileprivate func importCard(
        _ card: CharacterCard, into id: PersonaID, of caller: Caller, _ expected: [Int64]?
    ) async throws -> PersonaRecord {
        let json = String(decoding: card.json.bytes, as: UTF8.self)
        do {
            return try await changePersona(id, of: caller, expected) {
                """
                update public.coaching_personas p set \(PersonaRecord.assignments), card = \(json)::jsonb \(card.content.source)
                where p.user_id = \(caller.userID)
                """
            }
        } catch let error as PostgresError where error.sqlState == SQLState.checkViolation {
            // Longer than the request's JSON, because jsonb writes all digits of a number: 1e308 has 309.
            throw JSONFinding("data", .invalid("is too long"))
        }
    }

    /// Returns false for a persona that an operator has withdrawn.
    fileprivate func publishPersona(
        _ id: PersonaID, of caller: Caller, _ revision: Int?, _ visibility: PersonaVisibility?, within tiers: TierBook,
        _ requestID: String
    ) async throws -> Bool {
        let query: Query = """
            gateway.publish_within_tier(
                \(caller.userID), \(id), \(revision)::integer, \(visibility?.rawValue), \(StoredJSON.encode(RequestLimits(tiers: tiers)))::jsonb,
                \(tiers.maximumPersonas)::integer[], \(requestID))
            """
        do {
            let answer = try await call(query, for: caller, except: [SQLState.checkViolation], as: String.self)
            return try StoredJSON.decode(PublicationAnswer.self, from: answer).isPublished
        } catch let error as PostgresError where error.constraint == "persona_versions_quota" {
            throw Rejection(reason: .tooManyItems)
        }
    }

    fileprivate func endPublication(
        of id: PersonaID, by caller: Caller, _ expected: [Int64]?, _ requestID: String
    ) async throws {
        let query: Query = "gateway.end_publication(\(caller.userID), \(id), \(expected)::bigint[], \(requestID))"
        if try await call(query, for: caller, as: Bool.self) { return }
        let current = Int64(try await persona(id, of: caller).revision)
        if let expected, !expected.contains(current) { throw StaleVersion() }
        throw Rejection(reason: .notFound)
    }

    fileprivate func personaStatistics(_ id: PersonaID, of caller: Caller) async throws -> PersonaStatistics {
        let query: Query = "gateway.persona_stats(\(caller.userID), \(id))"
        let text = try await call(query, for: caller, as: String?.self).orNotFound()
        return try StoredJSON.decode(PersonaStatistics.self, from: text)
    }
}

/// The result of `gateway.publish_within_tier`.
private struct PublicationAnswer: JSONReadable {
    private enum Outcome: String, CaseIterable {
        case published, withdrawn, stale
        case rejected = "refused"
        case notFound = "not_found"
    }

    private let outcome: Outcome
    private let rejection: Rejection?

    init(_ json: JSONReader) throws(JSONFinding) {
        outcome = try json.required("outcome", .choice)
        rejection = outcome == .rejected ? try Rejection(json) : nil
    }

    /// False for a withdrawn persona.
    var isPublished: Bool {
        get throws {
            if let rejection { throw rejection }
            if outcome == .notFound { throw Rejection(reason: .notFound) }
            if outcome == .stale { throw StaleVersion() }
            return outcome == .published
        }
    }
}

extension TierBook {
    /// An array of PostgreSQL: personas that a creator may have published, in the order of the tiers.
    fileprivate var maximumPersonas: String { "{\(tiers.map { $0.publishedPersonas.map { "\($0)" } ?? "NULL" }.joined(separator: ","))}" }
}

extension PersonaContent {
    /// A `from` clause with the content as one row with the column `c`.
    fileprivate var source: Query { "from (select \(String(decoding: json.bytes, as: UTF8.self))::jsonb as c) as content" }
}
