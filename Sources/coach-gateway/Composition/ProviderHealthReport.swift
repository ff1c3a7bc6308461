import CoreMetrics
import Logging
import ModelProviders

/// Reports changes in the health of providers as metrics and in the log. Never writes a key, only that one was refused.
struct ProviderHealthReport: Sendable {
    private let logger: Logger

    init(models: ModelConfiguration, logger: Logger) {
        self.logger = logger
        for name in Set(models.routes.values.flatMap(\.choices).map(\.name)) { Self.circuit(name.provider, name.model).record(0) }
    }

    func take(_ event: ProviderEvent) {
        switch event {
        case .circuitOpened(let name, let needsOperator, let detail):
            Self.circuit(name.provider, name.model).record(1)
            if needsOperator { Self.refused(name.provider).increment() }
            logger.log(
                level: needsOperator ? .error : .warning,
                needsOperator ? "a provider refuses its key or has no money left" : "a provider is set aside",
                metadata: ["provider": "\(name.provider)", "model": "\(name.model)", "detail": "\(detail)"])
        case .circuitClosed(let name):
            Self.circuit(name.provider, name.model).record(0)
            logger.notice("a provider answers again", metadata: ["provider": "\(name.provider)", "model": "\(name.model)"])
        case .keyRefused(let provider, let detail):
            Self.refused(provider).increment()
            logger.error("a key was refused, another one is used", metadata: ["provider": "\(provider)", "detail": "\(detail)"])
        }
    }

    /// Logs the result of reading the files of keys again.
    func reloaded(_ result: (changed: [String], unreadable: [String])) {
        for provider in result.changed { logger.notice("keys were read again", metadata: ["provider": "\(provider)"]) }
        for provider in result.unreadable { logger.error("the file of keys is of no use", metadata: ["provider": "\(provider)"]) }
    }

    private static func circuit(_ provider: String, _ model: String) -> Gauge {
        Gauge(label: "coach_provider_circuit_open", dimensions: [("provider", provider), ("model", model)])
    }

    private static func refused(_ provider: String) -> Counter {
        Counter(label: "coach_provider_keys_refused", dimensions: [("provider", provider)])
    }
}
