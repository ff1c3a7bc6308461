import CoachCore
import GatewayAPI

extension StreamSafety {
    /// The wire form of a card.
    public init(_ card: SafetyCard) {
        self.init(
            severity: card.severity == .acute ? .acute : .concern, tier: card.tier.rawValue, categories: card.categories.map(\.rawValue),
            resources: card.resources.map {
                SafetyResource(name: $0.name, phone: $0.phone, sms: $0.sms, url: $0.url, hours: $0.hours, country: $0.country)
            },
            message: card.message)
    }
}

extension CrisisResources {
    /// The resources for an error to a user with this stored level; nil for a calm one.
    public func resources(stored level: SafetyLevel, in region: Region) -> StreamSafety? {
        level > .calm ? StreamSafety(all(in: region)) : nil
    }
}
