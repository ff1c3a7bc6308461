import CoachCore
import CoreMetrics
import HTTPEdge

/// Metrics of model calls by OpenTelemetry's conventions for GenAI clients (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics).
enum GenAIMetrics {
    /// The time of one request to a model, from its beginning to the end of its answer, whoever made it and whatever became of it.
    static func record(_ model: ModelName, _ end: ModelEnd, since start: ContinuousClock.Instant) {
        var error: ModelFault.Kind?
        if case .failed(let fault) = end { error = fault.kind }
        durations[RequestDimensions(model: model, error: error)].recordMilliseconds(start.duration(to: .now).milliseconds)
    }

    /// The times of the call that answered a turn.
    static func record(_ receipt: TurnReceipt, _ bill: TurnBill) {
        guard let first = receipt.timeToFirstTokenMilliseconds else { return }
        timesToFirstToken[bill.name].recordMilliseconds(first)
        // The definition of the rollups (db/migrations/00038_rollup_tables.sql): reasoning comes before the first text.
        guard let output = bill.usage.output, output > 1, receipt.durationMilliseconds >= first else { return }
        timesPerOutputToken[bill.name].recordNanoseconds(Int64(receipt.durationMilliseconds - first) * 1_000_000 / Int64(output - 1))
    }

    /// The tokens of any call.
    static func recordTokens(_ bill: TurnBill) {
        let counts = tokens[bill.name]
        if let input = bill.usage.totalInput { counts.input.record(input) }
        if let output = bill.usage.totalOutput { counts.output.record(output) }
    }

    /// The dimensions of requests, of which some get no response.
    private struct RequestDimensions: Hashable {
        var model: ModelName
        /// nil: it was answered, or cancelled.
        var error: ModelFault.Kind?

        var dimensions: [(String, String)] {
            [("gen_ai.operation.name", "chat"), ("gen_ai.provider.name", model.provider), ("gen_ai.request.model", model.model)]
                + (error.map { [("error.type", $0.rawValue)] } ?? [])
        }
    }

    /// The recorders of one model's token counts.
    private struct Tokens {
        var input: Recorder
        var output: Recorder
    }

    private static let tokens = MetricHandles { (model: ModelName) in
        func recorder(_ type: String) -> Recorder {
            Recorder(
                label: "gen_ai.client.token.usage", dimensions: model.responseDimensions + [("gen_ai.token.type", type)], aggregate: true)
        }
        return Tokens(input: recorder("input"), output: recorder("output"))
    }
    private static let durations = MetricHandles { (request: RequestDimensions) in
        Timer(label: "gen_ai.client.operation.duration", dimensions: request.dimensions)
    }
    private static let timesToFirstToken = MetricHandles { (model: ModelName) in
        Timer(label: "gen_ai.server.time_to_first_token", dimensions: model.responseDimensions)
    }
    private static let timesPerOutputToken = MetricHandles { (model: ModelName) in
        Timer(label: "gen_ai.server.time_per_output_token", dimensions: model.responseDimensions)
    }
}

extension ModelName {
    /// The dimensions of a metric of the model that answered.
    fileprivate var responseDimensions: [(String, String)] {
        [("gen_ai.operation.name", "chat"), ("gen_ai.provider.name", provider), ("gen_ai.response.model", model)]
    }
}
