import BackgroundJobs
import CoachCore
import Logging
import ModelProviders
import Reactor
import TokenRelay

/// The models, and what is known of their providers.
struct ModelAccess {
    let keys: ProviderKeys
    let health: ProviderHealthReport
    let models: TierModels
    /// nil when none is configured.
    let judge: SafetyJudge?
    /// The tokens that a request may ask each model for.
    let longestAnswers: [ModelName: Int]

    init(_ configuration: GatewayConfiguration, _ models: ModelConfiguration, reactor: Reactor, logger: Logger) {
        let keys = ProviderKeys(of: models, environment: configuration.processEnvironment)
        let health = ProviderHealthReport(models: models, logger: logger)
        let transfers = TransferClient(reactor: reactor, configuration: configuration.transfers)
        self.keys = keys
        self.health = health
        longestAnswers = models.longestAnswers
        self.models = TierModels.routes(configuration: models, keys: keys, transfers: transfers) { health.take($0) }
        judge = SafetyJudge(configuration: models, keys: keys, transfers: transfers) { health.takeFromJudge($0) }
    }

    /// Reads the files of keys again.
    func keyReloading(logger: Logger) -> PeriodicJob {
        PeriodicJob(
            "provider keys", PeriodicSchedule(every: .seconds(5), firstAfter: .seconds(5), jitter: 0.2), logger: logger
        ) { [health, keys] in
            health.reloaded(keys.reload())
        }
    }
}
