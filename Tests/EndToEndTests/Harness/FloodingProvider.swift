import Foundation

/// A provider that sends a word every 100 ms, or a flood, or a word and 10 MB in a line, if the message requests it.
final class FloodingProvider: Sendable {
    private let provider: RawProvider

    var port: Int { provider.port }
    var url: String { provider.url }

    /// The number of words of an ordinary answer.
    static let words = 60
    static let pace = Duration.milliseconds(100)

    init() throws {
        provider = try RawProvider { request, connection in
            guard connection.send(RawProvider.Connection.streamHead) else { return }
            if request.contains("flood with comments") {
                let block = String(repeating: ": comment\n\n", count: 1 << 14)
                while connection.send(block) {}
            } else if request.contains("flood with one line") {
                guard connection.send("data: ") else { return }
                let block = String(repeating: "x", count: 1 << 18)
                for _ in 0..<(1 << 12) where !connection.send(block) { return }
            } else if request.contains("flood after text") {
                guard connection.sendText("Kept."), connection.send("data: ") else { return }
                connection.send(String(repeating: "x", count: 10 << 20))
            } else {
                for _ in 0..<Self.words {
                    guard connection.sendText("word ") else { return }
                    Thread.sleep(forTimeInterval: Self.pace / .seconds(1))
                }
                _ = connection.sendFinish() && connection.sendDone()
            }
        }
    }
}
