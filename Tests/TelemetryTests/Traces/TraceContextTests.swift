import Synchronization
import Testing
import Tracing

@testable import Telemetry

@Suite("W3C Trace Context")
struct TraceContextTests {
    @Test("a well-formed traceparent is read and written again, of later versions its known part")
    func wellFormed() throws {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        #expect(TraceContext(traceparent: text)?.traceparent == text)
        #expect(TraceContext(traceparent: "cc" + text.dropFirst(2) + "-what-comes-later")?.traceparent == text)
        #expect(TraceContext(traceparent: text.dropLast() + "0")?.isSampled == false)
        #expect(TraceContext(traceparent: text, state: "a=1")?.child().state == "a=1")
        #expect(TraceContext(traceparent: text, state: String(repeating: "a", count: 513))?.state == nil)
    }

    @Test(
        "a malformed traceparent begins a new trace",
        arguments: [
            "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e473+-00f067aa0ba902b7-01",
        ])
    func malformed(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    private func record(_ count: Int, _ exporter: SpanExporter) {
        let tracer = OTLPTracer(exporter: exporter)
        for _ in 0..<count {
            tracer.startSpan("x", context: .topLevel, ofKind: .internal, at: DefaultTracerClock.now, function: "", file: "", line: 0).end()
        }
    }

    @Test("spans that nobody collects are dropped above a bound, and the process goes on")
    func bounded() async {
        let exporter = SpanExporter(serviceName: "test") { _ in false }
        record(10_000, exporter)
        #expect(exporter.waiting == 4096)
    }

    @Test("a flush sends all spans that wait, in batches, also in a cancelled task; a batch that is refused is dropped")
    func flush() async {
        let answers = Mutex([true, true, false, true])
        let exporter = SpanExporter(serviceName: "test") { _ in
            // A cancelled request would be refused.
            !Task.isCancelled && answers.withLock { $0.removeFirst() }
        }
        record(512 + 512 + 100, exporter)
        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            await exporter.flush()
        }
        cancelled.cancel()
        await cancelled.value
        #expect(exporter.waiting == 0 && answers.withLock { $0 } == [true])

        answers.withLock { $0 = [false, true] }
        record(600, exporter)
        await exporter.flush()
        #expect(exporter.waiting == 88, "the rest waits for the next flush")
        await exporter.flush()
        #expect(exporter.waiting == 0)
    }
}
