import CoachCore
import TokenRelay

/// Makes the port to the models; calls follow the route.
///
/// `transfers` decides the thread on which updates are delivered. Keys are held, sent to their provider, and never printed.
func makeLanguageModel(
    configuration: ModelConfiguration, route: Route, keys: ProviderKeys, transfers: TransferClient, health: TransferBound<ProviderHealth>
) -> LanguageModel {
    let router = ModelRouter(configuration: configuration, route: route, keys: keys, transfers: transfers, health: health)
    let secure = route.choices.compactMap { configuration.providers[$0.name.provider] }
        .filter { $0.route == .direct && $0.baseURL.lowercased().hasPrefix("https:") }
    for authorityFile in Set(secure.map(\.authorityFile)) { transfers.prepare(authorityFile: authorityFile) }
    return LanguageModel(firstChoice: route.first.name) { prompt, beforeRequest, receive in
        if route.isHedged {
            let call = HedgedCall.make(prompt: prompt, router: router, beforeRequest: beforeRequest, receive: receive)
            call.submit { $0.begin() }
            return Generation {
                call.submit { $0.cancel() }
            }
        }
        let call = transfers.bind(ModelCall(prompt: prompt, router: router, beforeRequest: beforeRequest, receive: receive))
        call.submit { $0.begin() }
        return Generation {
            call.submit { $0.cancel() }
        }
    }
}

/// The settings and services that the calls of a route share.
final class ModelRouter: Sendable {
    let route: Route
    let limits: CallLimits
    let transfers: TransferClient
    private let configuration: ModelConfiguration
    let keys: ProviderKeys
    private let shared: TransferBound<ProviderHealth>

    init(
        configuration: ModelConfiguration, route: Route, keys: ProviderKeys, transfers: TransferClient,
        health: TransferBound<ProviderHealth>
    ) {
        self.configuration = configuration
        self.route = route
        limits = configuration.limits
        self.keys = keys
        self.transfers = transfers
        shared = health
    }

    /// Only on the transfers' thread.
    var health: ProviderHealth { shared.current }

    /// The choices in the order in which a call beginning now tries them.
    func order(at now: MonotonicInstant) -> [ModelChoice] {
        var random = SystemRandomNumberGenerator()
        let choices = route.choices.drawn(using: &random).fastestFirst(health.meanTime, using: &random)
        return health.order(choices, at: now) { !keys.areRefused(of: $0.name.provider, at: now) }
    }

    /// A prompt in every form that this route's models accept, so that failover need not encode it. May be called on any thread.
    func encode(_ prompt: Prompt) -> [PromptForm: EncodedPrompt] {
        let forms = Set(route.choices.compactMap { provider(of: $0)?.dialect.promptForm(for: $0) })
        return Dictionary(uniqueKeysWithValues: forms.map { ($0, $0.encode(prompt)) })
    }

    /// nil when the configuration has no such provider; `ModelConfiguration.read` refuses such a route.
    func provider(of choice: ModelChoice) -> Provider? { configuration.providers[choice.name.provider] }
}
