/// The pause that a server names before the next request, in the header field `Retry-After` (RFC 9110 §10.2.3) or elsewhere.
public enum RetryAfter {
    /// The pause of a field's value: whole seconds, a fraction of them, or a date. nil when it cannot be read, or cannot mean a pause.
    /// - Parameter sent: the field `Date` of the response. A date is counted from the server's own clock where that is known.
    public static func pause(_ text: String, sent: String?, now: Timestamp = .now) -> Duration? {
        if let seconds = Double(text) { return pause(seconds: seconds) }
        guard let end = HTTPDate.parse(text, now: now) else { return nil }
        let start = sent.flatMap { HTTPDate.parse($0, now: now) } ?? now
        let milliseconds = max(0, end.millisecondsSince1970 - start.millisecondsSince1970)
        return pause(seconds: Double(milliseconds) / 1000).map { _ in .milliseconds(milliseconds) }
    }

    /// nil when the number is negative or so large that it cannot mean a pause.
    public static func pause(seconds: Double) -> Duration? { (0...1_000_000).contains(seconds) ? .seconds(seconds) : nil }
}
