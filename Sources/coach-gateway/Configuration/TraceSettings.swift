import CoachCore
import Foundation
import OutboundHTTP
import Telemetry
import Tracing

/// Where the spans of turns go, by the variables of OpenTelemetry's specification.
struct TraceSettings: Sendable {
    /// nil: nothing is traced.
    var endpoint: String?
    var headers: [HTTPHeader] = []
    var serviceName: String
    var sampledShare: Double

    /// A collector that needs longer loses the batch.
    private static let timeout = Duration.seconds(5)

    /// Reads the settings; what is wrong becomes a finding of `settings`.
    init(_ settings: inout Settings) {
        endpoint = settings.text(.tracesEndpoint)
        serviceName = settings.text(.traceServiceName) ?? ""
        sampledShare = Double(settings.text(.tracesSampled) ?? "") ?? -1
        if let endpoint, !["http", "https"].contains(URL(string: endpoint)?.scheme?.lowercased()) {
            settings.complain(.tracesEndpoint, "is no http or https URL")
        }
        if !(0...1).contains(sampledShare) { settings.complain(.tracesSampled, "is not a number from 0 to 1") }
        for entry in (settings.text(.tracesHeaders) ?? "").split(separator: ",") {
            let parts = entry.split(separator: "=", maxSplits: 1).map { $0.trimmingPrefix(while: \.isWhitespace) }
            guard parts.count == 2, let value = String(parts[1]).removingPercentEncoding,
                case let header = HTTPHeader(String(parts[0]), value), !header.isMalformed
            else {
                settings.complain(.tracesHeaders, "is not name=value, separated by commas")
                continue
            }
            headers.append(header)
        }
    }

    /// Traces the turns of this process from now on; nil when no endpoint is set: then `traceparent` is passed on, and nothing recorded. To be called
    /// once; the spans are sent while the exporter runs.
    func startTracing(_ client: OutboundHTTPClient) -> SpanExporter? {
        guard let endpoint else {
            InstrumentationSystem.bootstrap(PassThroughTracer())
            return nil
        }
        let exporter = SpanExporter(serviceName: serviceName) { body in
            var request = OutboundRequest(
                .post, url: endpoint, headers: [HTTPHeader("Content-Type", "application/json")] + headers, body: body)
            request.limits.total = Self.timeout
            // A collector that gets a span twice keeps one.
            request.mayBeSentTwice = true
            guard let response = try? await client.send(request) else { return false }
            return (200..<300).contains(response.status)
        }
        InstrumentationSystem.bootstrap(OTLPTracer(exporter: exporter, sampledShare: sampledShare))
        return exporter
    }
}
