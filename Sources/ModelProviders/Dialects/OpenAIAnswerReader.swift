import CoachCore
import EventStream

/// Reads a streamed Chat Completions answer.
///
/// The end: `[DONE]`, or a stream that closes after a `finish_reason` was seen, is the model's end. A stream that closes without either was
/// cut. An error frame is an error, whatever follows it; `[DONE]` alone does not make it a success. A frame that is not JSON is an error
/// too, because it may have held text.
struct OpenAIAnswerReader: AnswerReader {
    /// No chunk comes near it: the largest carry one token's log probabilities, which we never ask for.
    private static let longestFrame = 256 << 10

    private var parser = EventStreamParser(limit: longestFrame)
    private var progress = Progress()

    fileprivate struct Progress {
        var finishReason: ModelEnd?
        var isOver = false
    }

    mutating func read(_ bytes: UnsafeRawBufferPointer, into news: inout AnswerNews) {
        guard !progress.isOver else { return }
        var progress = progress
        do throws(EventStreamError) {
            try parser.feed(bytes) { progress.take($0.data, into: &news) }
        } catch {
            progress.end(.broken(.errorFrame, detail: "frame too long"), into: &news)
        }
        self.progress = progress
    }

    mutating func finish(into news: inout AnswerNews) {
        guard !progress.isOver else { return }
        var progress = progress
        // What stands behind the last blank line is either whole or nothing; a half of it is no error but a cut, which is told below.
        var last = AnswerNews()
        try? parser.finish(.deliver) { progress.take($0.data, into: &last) }
        if case .broken(_, detail: OpenAIChunk.malformed)? = last.verdict {
            progress.isOver = false
        } else {
            news.text += last.text
            news.usage = last.usage ?? news.usage
            news.verdict = last.verdict ?? news.verdict
        }
        let end = progress.finishReason
        progress.end(end.map { .ended($0) } ?? .broken(.cut, detail: "ended without its end mark"), into: &news)
        self.progress = progress
    }
}

extension OpenAIAnswerReader.Progress {
    mutating func take(_ data: [UInt8], into news: inout AnswerNews) {
        guard !isOver else { return }
        if data.elementsEqual("[DONE]".utf8) { return end(.ended(finishReason ?? .stop), into: &news) }
        // Some servers keep the line alive with empty or wordy data.
        guard data.first(where: { $0 != UInt8(ascii: " ") }) == UInt8(ascii: "{") else { return }
        let textBefore = news.text.count
        do throws(JSONError) {
            let chunk = try OpenAIChunk(data, text: &news.text)
            if let usage = chunk.usage { news.usage = usage }
            if let reason = chunk.finishReason { finishReason = reason }
            if let error = chunk.error { end(.broken(.errorFrame, detail: error), into: &news) }
        } catch {
            news.text.removeSubrange(textBefore...)
            end(.broken(.errorFrame, detail: OpenAIChunk.malformed), into: &news)
        }
    }

    mutating func end(_ verdict: AnswerNews.Verdict, into news: inout AnswerNews) {
        guard !isOver else { return }
        isOver = true
        news.verdict = verdict
    }
}
