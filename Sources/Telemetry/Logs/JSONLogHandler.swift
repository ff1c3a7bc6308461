import Dispatch
import JSON
import Logging

/// The swift-log backend: writes every log event as one JSON object on one line with `time`, `level`, `label`, `message`, `error` if there
/// is one, and the metadata. Metadata keys are sorted, and nested ones joined with dots. Numbers and booleans are written as such. Every
/// text passes the ``Redactor``.
///
/// ```swift
/// LoggingSystem.bootstrap { JSONLogHandler(label: $0, level: .info) }
/// ```
public struct JSONLogHandler: LogHandler {
    /// Metadata of the logger, written with every event.
    public var metadata: Logger.Metadata = [:]
    /// Provides metadata of the current task, such as a trace id.
    public var metadataProvider: Logger.MetadataProvider?
    /// Events below this level are not written.
    public var logLevel: Logger.Level

    private let label: String
    private let writer: LogWriter
    private let clock: @Sendable () -> Timestamp
    private let redactor = Redactor()

    public init(
        label: String, level: Logger.Level = .info, writer: LogWriter = .standardError,
        metadataProvider: Logger.MetadataProvider? = nil, clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.label = label
        self.writer = writer
        self.clock = clock
        self.metadataProvider = metadataProvider
        logLevel = level
    }

    /// One value of the logger's metadata.
    public subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line. On equal keys, metadata of the event overrides that of the task, and that overrides the logger's.
    public func log(event: LogEvent) {
        var line = LogLine()
        line.field("time", clock().rfc3339)
        line.field("level", event.level.rawValue)
        line.field("label", label)
        line.field("message", redactor.redact(event.message.description))
        if let error = event.error {
            line.field("error", redactor.redact("\(error)"))
            line.field("error_type", "\(type(of: error))")
        }
        write(metadata(of: event), under: nil, besides: event.error == nil ? Self.keys : Self.keysWithError, into: &line)
        line.end()
        writer.append(line.bytes)
        // The process may be about to end.
        if event.level == .critical { writer.flush(within: Self.criticalFlush) }
    }

    private static let criticalFlush = DispatchTimeInterval.milliseconds(250)

    private func metadata(of event: LogEvent) -> Logger.Metadata {
        // The usual case needs no merging and no copy.
        if metadata.isEmpty, metadataProvider == nil { return event.metadata ?? [:] }
        var all = metadata
        if let provided = metadataProvider?.get(), !provided.isEmpty { all.merge(provided) { _, new in new } }
        if let own = event.metadata, !own.isEmpty { all.merge(own) { _, new in new } }
        return all
    }

    /// The fixed keys of a line, without and with an error. Metadata with such a key is written as `metadata.time` and so on, so that no key
    /// occurs twice.
    private static let keys: Set<String> = ["time", "level", "label", "message"]
    private static let keysWithError = keys.union(["error", "error_type"])

    private func write(_ metadata: Logger.Metadata, under parent: String?, besides taken: Set<String>, into line: inout LogLine) {
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let key = parent.map { "\($0).\(name)" } ?? (taken.contains(name) ? "metadata.\(name)" : name)
            write(value, key: key, into: &line)
        }
    }

    private func write(_ value: Logger.MetadataValue, key: String, into line: inout LogLine) {
        guard !redactor.isSecret(key: key) else { return line.field(key, Redactor.mark) }
        switch value {
        case .string(let text): line.field(key, redactor.redact(text))
        case .stringConvertible(let value):
            switch value {
            case let number as any FixedWidthInteger: line.field(key, literal: "\(number)")
            case let number as Double where number.isFinite: line.field(key, literal: "\(number)")
            case let flag as Bool: line.field(key, literal: "\(flag)")
            default: line.field(key, redactor.redact(value.description))
            }
        case .array(let items): line.field(key, list: items.map { redactor.redact($0.description) })
        case .dictionary(let nested): write(nested, under: key, besides: [], into: &line)
        }
    }
}
