import CoachCore
import GatewayAPI
import Hummingbird

/// Answers about a versioned resource: the record with its `ETag`, and 412 `BIZ_2008` with the current record when a change was made from another
/// version.
public struct VersionedResource<Record: Sendable, Resource: WireResource>: Sendable {
    let resource: @Sendable (Record) -> Resource
    let version: @Sendable (Record) -> Int64

    public init(_ resource: @escaping @Sendable (Record) -> Resource, version: @escaping @Sendable (Record) -> Int64) {
        self.resource = resource
        self.version = version
    }

    /// The record and its `ETag`; 304 for a GET with a matching `If-None-Match`.
    public func response(_ record: Record, _ request: Request, _ context: AuthenticatedContext) -> Response {
        .envelope(context, resource(record)).tagged(EntityTag(version: version(record)), for: request)
    }

    /// Changes the resource and answers with the record that `change` returns.
    /// - Parameters:
    ///   - requiresVersion: whether a request without `If-Match` gets 428.
    ///   - current: reads the current record when `change` throws `StaleVersion`.
    ///   - change: gets the argument of the port that makes the change: the versions of `If-Match`, nil for any.
    public func edit(
        _ request: Request, _ context: AuthenticatedContext, requiresVersion: Bool = true, current: () async throws -> Record,
        _ change: (_ expectedVersions: [Int64]?) async throws -> Record
    ) async throws -> Response {
        let expected = try request.expectedVersion(required: requiresVersion)
        return try await reportingStale(current: current) { response(try await change(expected.versions), request, context) }
    }

    /// Runs `change`, and throws 412 with the record that `current` reads when it throws `StaleVersion`.
    public func reportingStale(current: () async throws -> Record, _ change: () async throws -> Response) async throws -> Response {
        do {
            return try await change()
        } catch is StaleVersion {
            let record = try await current()
            throw GatewayError.stale(resource(record), EntityTag(version: version(record)))
        }
    }
}
