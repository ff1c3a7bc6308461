import JSON

/// Port to personas: drafts and versions of the caller's own, and published ones that the caller may use.
///
/// Closures throw `StoreFault`, and `Rejection` with `notFound` for a persona that does not exist, is deleted, or belongs to another creator.
public struct PersonaRepository: Sendable {
    /// The published personas that the caller may use: listed, redeemed and own ones, by id.
    public var published: @Sendable (Caller, PageRequest) async throws -> Page<PublishedPersona>
    /// One of these. Throws `notFound` when it is not open to the caller.
    public var publishedOne: @Sendable (Caller, PersonaID) async throws -> PublishedPersona
    /// The same by its slug.
    public var publishedBySlug: @Sendable (Caller, String) async throws -> PublishedPersona
    /// The caller's own, newest first.
    public var own: @Sendable (Caller, PageRequest) async throws -> Page<PersonaRecord>
    public var get: @Sendable (Caller, PersonaID) async throws -> PersonaRecord
    /// Creates a draft, or returns the caller's that has this id. Throws `Rejection` `tooManyItems` at 100 personas.
    public var create: @Sendable (Caller, PersonaID, PersonaContent) async throws -> PersonaRecord
    /// Replaces the draft. Throws `StaleVersion` when the persona has none of the expected revisions (nil: any).
    public var put: @Sendable (Caller, PersonaID, PersonaContent, _ expected: [Int64]?) async throws -> PersonaRecord
    /// Replaces the draft by an earlier version; throws as `put`, and `UnknownVersion`.
    public var restore: @Sendable (Caller, PersonaID, _ version: Int, _ expected: [Int64]?) async throws -> PersonaRecord
    /// The character card that the draft was imported from; nil for another draft.
    public var card: @Sendable (Caller, PersonaID) async throws -> JSONValue?
    /// Replaces the draft by that of a card, which is kept; throws as `put`.
    public var importCard: @Sendable (Caller, PersonaID, CharacterCard, _ expected: [Int64]?) async throws -> PersonaRecord
    /// Throws `StaleVersion` as `put`.
    public var delete: @Sendable (Caller, PersonaID, _ expected: [Int64]?) async throws -> Void
    /// Publishes the draft as a version, with this visibility (nil: unchanged), and writes the audit log. False when an operator has withdrawn the
    /// persona. Throws `StaleVersion` when the persona has another revision than the one that was validated (nil: any), and `Rejection`
    /// `tooManyPersonas` when the caller's tier allows no more published ones, `tooManyItems` at 1,000 versions of the persona.
    public var publish: @Sendable (Caller, PersonaID, _ revision: Int?, PersonaVisibility?, _ requestID: String) async throws -> Bool
    /// Ends the publication, and writes the audit log. Throws `StaleVersion` as `put`, and `notFound` for a persona that was never published, too.
    public var unpublish: @Sendable (Caller, PersonaID, _ expected: [Int64]?, _ requestID: String) async throws -> Void
    /// Newest first.
    public var versions: @Sendable (Caller, PersonaID, PageRequest) async throws -> Page<PersonaVersion>
    /// nil when there is no such version.
    public var version: @Sendable (Caller, PersonaID, Int) async throws -> PersonaVersion?
    public var statistics: @Sendable (Caller, PersonaID) async throws -> PersonaStatistics

    public init(
        published: @escaping @Sendable (Caller, PageRequest) async throws -> Page<PublishedPersona>,
        publishedOne: @escaping @Sendable (Caller, PersonaID) async throws -> PublishedPersona,
        publishedBySlug: @escaping @Sendable (Caller, String) async throws -> PublishedPersona,
        own: @escaping @Sendable (Caller, PageRequest) async throws -> Page<PersonaRecord>,
        get: @escaping @Sendable (Caller, PersonaID) async throws -> PersonaRecord,
        create: @escaping @Sendable (Caller, PersonaID, PersonaContent) async throws -> PersonaRecord,
        put: @escaping @Sendable (Caller, PersonaID, PersonaContent, [Int64]?) async throws -> PersonaRecord,
        restore: @escaping @Sendable (Caller, PersonaID, Int, [Int64]?) async throws -> PersonaRecord,
        card: @escaping @Sendable (Caller, PersonaID) async throws -> JSONValue?,
        importCard: @escaping @Sendable (Caller, PersonaID, CharacterCard, [Int64]?) async throws -> PersonaRecord,
        delete: @escaping @Sendable (Caller, PersonaID, [Int64]?) async throws -> Void,
        publish: @escaping @Sendable (Caller, PersonaID, Int?, PersonaVisibility?, String) async throws -> Bool,
        unpublish: @escaping @Sendable (Caller, PersonaID, [Int64]?, String) async throws -> Void,
        versions: @escaping @Sendable (Caller, PersonaID, PageRequest) async throws -> Page<PersonaVersion>,
        version: @escaping @Sendable (Caller, PersonaID, Int) async throws -> PersonaVersion?,
        statistics: @escaping @Sendable (Caller, PersonaID) async throws -> PersonaStatistics
    ) {
        self.published = published
        self.publishedOne = publishedOne
        self.publishedBySlug = publishedBySlug
        self.own = own
        self.get = get
        self.create = create
        self.put = put
        self.restore = restore
        self.card = card
        self.importCard = importCard
        self.delete = delete
        self.publish = publish
        self.unpublish = unpublish
        self.versions = versions
        self.version = version
        self.statistics = statistics
    }
}
