import CoachCore
import CoreMetrics
import HTTPEdge

/// Metrics of model calls by OpenTelemetry's conventions for GenAI clients (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics).
enum GenAIMetrics {
    /// The times of the call that answered.
    static func record(_ receipt: TurnReceipt, _ bill: TurnBill) {
        let model = Answerer(provider: bill.provider, model: bill.model, error: nil)
        durations[Answerer(provider: bill.provider, model: bill.model, error: receipt.errorCode)]
            .recordMilliseconds(receipt.durationMilliseconds)
        guard let first = receipt.timeToFirstTokenMilliseconds else { return }
        timesToFirstToken[model].recordMilliseconds(first)
        // The definition of the rollups (db/migrations/00038_rollup_tables.sql).
        guard let output = bill.usage.totalOutput, output > 1, receipt.durationMilliseconds >= first else { return }
        timesPerOutputToken[model].recordNanoseconds(Int64(receipt.durationMilliseconds - first) * 1_000_000 / Int64(output - 1))
    }

    /// The tokens of any call.
    static func recordTokens(_ bill: TurnBill) {
        let counts = tokens[Answerer(provider: bill.provider, model: bill.model, error: nil)]
        if let input = bill.usage.totalInput { counts.input.record(input) }
        if let output = bill.usage.totalOutput { counts.output.record(output) }
    }

    private struct Answerer: Hashable {
        var provider: String
        var model: String
        /// Of CONTRACT §2; nil for an answer without an error.
        var error: String?

        var dimensions: [(String, String)] {
            [("gen_ai.operation.name", "chat"), ("gen_ai.provider.name", provider), ("gen_ai.response.model", model)]
                + (error.map { [("error.type", $0)] } ?? [])
        }
    }

    private struct Tokens {
        var input: Recorder
        var output: Recorder
    }

    private static let tokens = MetricHandles { (answerer: Answerer) in
        func recorder(_ type: String) -> Recorder {
            Recorder(label: "gen_ai.client.token.usage", dimensions: answerer.dimensions + [("gen_ai.token.type", type)], aggregate: true)
        }
        return Tokens(input: recorder("input"), output: recorder("output"))
    }
    private static let durations = MetricHandles { (answerer: Answerer) in
        Timer(label: "gen_ai.client.operation.duration", dimensions: answerer.dimensions)
    }
    private static let timesToFirstToken = MetricHandles { (answerer: Answerer) in
        Timer(label: "gen_ai.server.time_to_first_token", dimensions: answerer.dimensions)
    }
    private static let timesPerOutputToken = MetricHandles { (answerer: Answerer) in
        Timer(label: "gen_ai.server.time_per_output_token", dimensions: answerer.dimensions)
    }
}
