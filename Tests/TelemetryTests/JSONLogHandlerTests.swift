import Foundation
import JSON
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Telemetry

@Suite("JSON logs")
struct JSONLogHandlerTests {
    /// Collects the written lines.
    private final class Lines: Sendable {
        let writer: LogWriter
        private let collected: Shared

        init() {
            let collected = Shared()
            self.collected = collected
            writer = LogWriter { lines in
                collected.bytes.withLock { $0 += lines }
                return true
            }
        }

        var all: [String] {
            writer.flush(within: .seconds(10))
            return String(decoding: collected.bytes.withLock { $0 }, as: UTF8.self).split(separator: "\n").map { $0 + "\n" }
        }
    }

    private static func logger(_ lines: Lines, level: Logger.Level = .trace, provider: Logger.MetadataProvider? = nil) -> Logger {
        let handler = JSONLogHandler(label: "gateway", level: level, writer: lines.writer, metadataProvider: provider) {
            Timestamp(millisecondsSince1970: 1_772_366_400_250)
        }
        return Logger(label: "gateway") { _ in handler }
    }

    private final class Shared: Sendable { let bytes = Mutex<[UInt8]>([]) }

    private struct Failure: Error {}

    @Test("a line equals the golden line: fixed keys first, metadata sorted, nested and typed")
    func golden() {
        let lines = Lines()
        var logger = Self.logger(lines, provider: .init { ["trace": "t1", "turn": "from the task"] })
        logger[metadataKey: "instance"] = "i1"
        logger.warning(
            "turn \"finished\"\n",
            metadata: [
                "turn": "t9", "tokens": .stringConvertible(12), "cost": .stringConvertible(0.5), "ok": .stringConvertible(true),
                "http": ["status": .stringConvertible(200), "path": "/x"], "list": ["a", "b"], "time": "mine",
            ])
        #expect(
            lines.all == [
                #"{"time":"2026-03-01T12:00:00.250Z","level":"warning","label":"gateway","message":"turn \"finished\"\n","#
                    + #""cost":0.5,"http.path":"/x","http.status":200,"instance":"i1","list":["a","b"],"ok":true,"#
                    + #""metadata.time":"mine","tokens":12,"trace":"t1","turn":"t9"}"# + "\n"
            ])
    }

    @Test("any message is logged as one line of valid JSON with the same text")
    func escaping() throws {
        let lines = Lines()
        let nasty = "a\u{0}b\u{1F}c\u{7F}d\u{85}e\u{2028}f\u{2029}g\"h\\i\r\nj\tk/é🌱</script>"
        Self.logger(lines).info("\(nasty)", metadata: ["\(nasty)": "\(nasty)"])
        let line = try #require(lines.all.first)
        #expect(line.split(whereSeparator: \.isNewline).count == 1)
        let json = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(json["message"] == nasty)
        #expect(json[nasty] == nasty)
    }

    @Test("an error is written with its type, and events below the log level are not written")
    func errorsAndLevels() {
        let lines = Lines()
        let logger = Self.logger(lines, level: .warning)
        logger.info("quiet")
        logger.error("loud", error: Failure())
        #expect(lines.all.count == 1)
        #expect(lines.all.first?.contains(#""error":"Failure()","error_type":"Failure""#) == true)
        logger.error("told", metadata: ["error": "a text"])
        #expect(lines.all.last?.contains(#""message":"told","error":"a text"}"#) == true)
        logger.error("both", error: Failure(), metadata: ["error": "a text"])
        #expect(lines.all.last?.contains(#""error":"Failure()","error_type":"Failure","metadata.error":"a text"}"#) == true)
    }

    @Test("no secret reaches the log by message, error, metadata, nested metadata or a metadata key", arguments: RedactorTests.canaries)
    func canaries(text: String) {
        struct Leak: Error, CustomStringConvertible { let description: String }
        let lines = Lines()
        Self.logger(lines).error(
            "\(text)", error: Leak(description: text),
            metadata: [
                "a": "\(text)", "b": .stringConvertible(Leak(description: text)), "c": ["d": "\(text)"], "e": ["\(text)"],
                "token": "canary",
            ])
        #expect(lines.all.count == 1)
        #expect(lines.all.allSatisfy { !$0.lowercased().contains("canary") }, "\(lines.all)")
    }

    @Test("a value beyond 4 KiB is truncated between characters")
    func long() throws {
        let lines = Lines()
        Self.logger(lines).info("x", metadata: ["v": "\(String(repeating: "🌱", count: 5000))"])
        let json = try JSONDecoder().decode([String: String].self, from: Data((lines.all.first ?? "").utf8))
        #expect(json["v"] == String(repeating: "🌱", count: 1024) + "…")
    }

    @Test("lines written by many tasks to a pipe are not interleaved")
    func concurrency() async throws {
        let pipe = Pipe()
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let logger = Logger(label: "l") { label in JSONLogHandler(label: label, writer: writer) }
        let (read, finished) = AsyncStream.makeStream(of: Data.self)
        // A separate thread: writers that block on the full pipe must not occupy the thread that reads it.
        Thread.detachNewThread { finished.yield(pipe.fileHandleForReading.readDataToEndOfFile()) }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<250 {
                        logger.info("\(String(repeating: "x", count: number * 8))", metadata: ["id": "\(task)-\(number)"])
                    }
                }
            }
        }
        #expect(writer.flush(within: .seconds(10)))
        try pipe.fileHandleForWriting.close()
        let data = try #require(await read.first { _ in true })
        let lines = data.split(separator: UInt8(ascii: "\n"))
        let ids = try lines.map { try JSONDecoder().decode([String: String].self, from: $0)["id"] }
        #expect(ids.count == 2000)
        #expect(Set(ids).count == 2000)
    }

    @Test("lines that cannot be written are counted")
    func fullDisk() throws {
        let file = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let writer = LogWriter(descriptor: file.fileDescriptor)
        let logger = Logger(label: "l") { JSONLogHandler(label: $0, writer: writer) }
        // More than one batch.
        for _ in 0..<200 { logger.info("\(String(repeating: "x", count: 1000))") }
        #expect(writer.flush(within: .seconds(10)))
        #expect(writer.droppedLines == 200)
        try file.close()
    }

    @Test("lines that could not be written are reported, once, when writing works again")
    func writingWorksAgain() {
        let collected = Shared()
        let isBroken = Shared()
        isBroken.bytes.withLock { $0 = [1] }
        let writer = LogWriter { lines in
            guard isBroken.bytes.withLock({ $0.isEmpty }) else { return false }
            collected.bytes.withLock { $0 += lines }
            return true
        }
        let logger = Logger(label: "l") { JSONLogHandler(label: $0, writer: writer) }
        for text in ["one", "two", "three"] {
            logger.info("\(text)")
            #expect(writer.flush(within: .seconds(10)))
        }
        isBroken.bytes.withLock { $0 = [] }
        for text in ["four", "five"] {
            logger.info("\(text)")
            #expect(writer.flush(within: .seconds(10)))
        }
        let lines = String(decoding: collected.bytes.withLock { $0 }, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 3 && lines.first?.contains("could not be written\",\"count\":3}") == true, "\(lines)")
        #expect(writer.droppedLines == 3)
    }

    @Test(
        "logging does not wait for a blocked reader; lines beyond the limit are dropped, counted and reported",
        .timeLimit(.minutes(1)))
    func stuckReader() async throws {
        let pipe = Pipe()
        // More than a pipe and one batch hold.
        let writer = LogWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor, capacity: 100_000)
        let logger = Logger(label: "l") { JSONLogHandler(label: $0, writer: writer) }
        let factory = PrometheusMetricsFactory()
        factory.addLogMetrics(of: writer)
        let text = String(repeating: "word ", count: 180)
        for number in 0..<700 { logger.info("\(text)", metadata: ["number": .stringConvertible(number)]) }
        #expect(writer.droppedLines > 400)
        // Flushing waits for a blocked reader once, not for every line.
        #expect(!writer.flush(within: .milliseconds(20)))
        let again = ContinuousClock.now
        logger.critical("no reader")
        #expect(again.duration(to: .now) < .milliseconds(200))

        let (read, finished) = AsyncStream.makeStream(of: Data.self)
        Thread.detachNewThread { finished.yield(pipe.fileHandleForReading.readDataToEndOfFile()) }
        try await eventually { writer.flush(within: .seconds(10)) }
        logger.info("the end")
        #expect(writer.flush(within: .seconds(10)))
        try pipe.fileHandleForWriting.close()
        let lines = try #require(await read.first { _ in true }).split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0, as: UTF8.self)
        }
        let dropped = writer.droppedLines
        // One for each batch that was written meanwhile: two when the writer was slow to take the first.
        let notice = /"message":"log lines were dropped because they were not read in time or could not be written","count":(\d+)}/
        let counts = lines.compactMap { line in line.firstMatch(of: notice).flatMap { Int($0.1) } }
        #expect((1...2).contains(counts.count) && counts.reduce(0, +) == dropped, "\(counts) \(dropped)")
        #expect(lines.count == 702 + counts.count - dropped, "\(lines.count) \(counts) \(dropped)")
        #expect(lines.last?.contains("the end") ?? false)
        let page = String(decoding: factory.render(.text), as: UTF8.self)
        #expect(page.contains("coach_log_lines_dropped_total \(dropped)"), "\(page)")
    }
}
