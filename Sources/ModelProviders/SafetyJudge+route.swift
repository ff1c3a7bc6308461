import CoachCore
import TokenRelay

extension SafetyJudge {
    /// The judge of the configuration; nil when it has none.
    /// - Parameter report: called on the transfers' thread; must not block.
    public init?(
        configuration: ModelConfiguration, keys: ProviderKeys, transfers: TransferClient,
        report: @escaping @Sendable (ProviderEvent) -> Void = { _ in }
    ) {
        guard let settings = configuration.judge else { return nil }
        self.init(
            model: makeLanguageModel(
                configuration: configuration, route: settings.route, keys: keys, transfers: transfers,
                // The judge has its own health, so that a late judge does not change the order of the models of turns.
                health: transfers.bind(ProviderHealth(report: report))),
            lowestScore: settings.lowestScore, timeLimit: settings.timeLimit)
    }
}
