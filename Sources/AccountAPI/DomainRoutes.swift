import CoachCore
import GatewayAPI
import HTTPEdge
import Hummingbird

/// `GET /api/v1/domains`: the public part of the domain configurations that are in force.
public struct DomainRoutes: Feature {
    private let domains: @Sendable () -> DomainConfigurations

    public init(domains: @escaping @Sendable () -> DomainConfigurations) { self.domains = domains }

    public func register(on routes: RouteTable) {
        routes.authenticated("Account").get(
            "/api/v1/domains",
            .init("List the coaching domains", parameters: PageQuery.cursorParameters, response: .list(DomainResource.schema))
        ) { request, context in
            .list(request, context, try Page(of: domains().all, try PageQuery.read(request))) { domain in
                DomainResource(
                    id: domain.domain.rawValue, name: domain.name, description: domain.description, greeting: domain.greeting,
                    starters: domain.starters)
            }
        }
    }
}
