import CoachCore
import TokenRelay

extension SafetyJudge {
    /// The judge of the configuration; nil when it has none.
    public init?(configuration: ModelConfiguration, keys: ProviderKeys, transfers: TransferPool) {
        guard let settings = configuration.judge else { return nil }
        self.init(
            model: makeLanguageModel(
                configuration: configuration, route: settings.route, keys: keys, transfers: transfers,
                // Of its own: a judge that is late costs the turn's model nothing.
                health: transfers.bind(ProviderHealth { _ in })),
            lowestScore: settings.lowestScore, timeLimit: settings.timeLimit)
    }
}
