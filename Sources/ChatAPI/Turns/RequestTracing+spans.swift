import CoachCore
import Tracing

extension RequestTracing {
    /// Measures how long each request takes, without a trace.
    static let measuring = RequestTracing { model, _ in
        let start = ContinuousClock.now
        return RequestTrace(traceparent: nil) { GenAIMetrics.record(model, $0.end, since: start) }
    }

    /// Measures each request, and makes a span of it, with the attributes of OpenTelemetry's conventions for GenAI clients
    /// (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans). What the provider records is a part of it, or of the caller's trace.
    init(below parent: ServiceContext) {
        self.init { model, isHedge in
            let measured = Self.measuring.begin(model, isHedge)
            let span = InstrumentationSystem.tracer.startSpan("chat \(model.model)", context: parent, ofKind: .client)
            span.updateAttributes { attributes in
                attributes["gen_ai.operation.name"] = "chat"
                attributes["gen_ai.provider.name"] = model.provider
                attributes["gen_ai.request.model"] = model.model
                if isHedge { attributes["coach.request.hedge"] = true }
            }
            var headers: [String: String] = [:]
            InstrumentationSystem.tracer.inject(span.context, into: &headers, using: DictionaryInjector())
            return RequestTrace(traceparent: headers["traceparent"]) { result in
                measured.end(result)
                Self.end(span, result, of: model)
            }
        }
    }

    /// The conventions' name.
    private static let filtered = "content_filter"

    private static func end(_ span: any Span, _ result: RequestResult, of model: ModelName) {
        span.updateAttributes { attributes in
            if let status = result.status {
                attributes["http.response.status_code"] = status
                if status == 200 { attributes["gen_ai.response.model"] = model.model }
            }
            if let input = result.usage.totalInput { attributes["gen_ai.usage.input_tokens"] = input }
            // What was counted before the end is not what was used.
            if !result.usage.isPartial, let output = result.usage.totalOutput { attributes["gen_ai.usage.output_tokens"] = output }
            switch result.end {
            case .stop: attributes["gen_ai.response.finish_reasons"] = [FinishReason.stop.rawValue]
            case .length: attributes["gen_ai.response.finish_reasons"] = [FinishReason.length.rawValue]
            case .filtered: attributes["gen_ai.response.finish_reasons"] = [Self.filtered]
            case .unknown: attributes["gen_ai.response.finish_reasons"] = ["unknown"]
            // Not an error: the client has stopped the turn, or another request was faster.
            case .cancelled: attributes["coach.request.cancelled"] = true
            case .failed(let fault): attributes["error.type"] = fault.kind.rawValue
            }
        }
        if case .failed = result.end { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }
}

private struct DictionaryInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout [String: String]) { headers[key] = value }
}
