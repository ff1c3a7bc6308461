/// Port to the avatars of personas. Closures throw `StoreFault`, and `Rejection` with `notFound`.
public struct PersonaAvatars: Sendable {
    /// The avatar of a persona that the caller may use or owns; throws `notFound` without one.
    public var get: @Sendable (Caller, PersonaID) async throws -> AvatarImage
    /// The avatar of the persona behind a share link, for anyone; nil without one.
    public var shared: @Sendable (_ token: String) async throws -> AvatarImage?
    /// Whether there is one.
    public var hasShared: @Sendable (_ token: String) async throws -> Bool
    /// Sets or replaces the avatar of a persona of the caller.
    public var put: @Sendable (Caller, PersonaID, AvatarImage) async throws -> Void
    /// Removes the avatar of a persona of the caller; throws `notFound` without one.
    public var delete: @Sendable (Caller, PersonaID) async throws -> Void

    public init(
        get: @escaping @Sendable (Caller, PersonaID) async throws -> AvatarImage,
        shared: @escaping @Sendable (String) async throws -> AvatarImage?,
        hasShared: @escaping @Sendable (String) async throws -> Bool,
        put: @escaping @Sendable (Caller, PersonaID, AvatarImage) async throws -> Void,
        delete: @escaping @Sendable (Caller, PersonaID) async throws -> Void
    ) {
        self.get = get
        self.shared = shared
        self.hasShared = hasShared
        self.put = put
        self.delete = delete
    }
}
