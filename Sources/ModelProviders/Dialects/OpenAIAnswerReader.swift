import CoachCore
import EventStream
import JSON

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
        var template = OpenAIFrameTemplate()
        /// A frame that is parsed.
        var frame: [UInt8] = []
    }

    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate) {
        guard !progress.isOver else { return }
        do throws(EventStreamError) {
            try parser.feedData(bytes) { progress.take($0, into: &update) }
        } catch {
            progress.end(.broken(.errorFrame, detail: "frame too long"), into: &update)
        }
    }

    mutating func finish(into update: inout ParsedUpdate) {
        guard !progress.isOver else { return }
        // What stands behind the last blank line is either whole or nothing; half of it is no error but a cut, which is reported below.
        var last = ParsedUpdate()
        try? parser.finish { event in event.data.withUnsafeBufferPointer { progress.take($0, into: &last) } }
        if case .broken(_, detail: OpenAIChunk.malformed)? = last.verdict {
            progress.isOver = false
        } else {
            update.text += last.text
            update.usage = last.usage ?? update.usage
            update.verdict = last.verdict ?? update.verdict
        }
        let end = progress.finishReason
        progress.end(end.map { .ended($0) } ?? .broken(.cut, detail: "ended without its end mark"), into: &update)
    }
}

extension OpenAIAnswerReader.Progress {
    mutating func take(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) {
        guard !isOver, !template.read(data, into: &update.text) else { return }
        if data.elementsEqual("[DONE]".utf8) { return end(.ended(finishReason ?? .stop), into: &update) }
        // Some servers keep the line alive with empty or wordy data.
        guard data.first(where: { $0 != UInt8(ascii: " ") }) == UInt8(ascii: "{") else { return }
        frame.removeAll(keepingCapacity: true)
        frame.append(contentsOf: data)
        let textBefore = update.text.count
        do throws(JSONError) {
            let chunk = try OpenAIChunk(frame, text: &update.text)
            if let places = chunk.ordinaryPlaces { template.learn(data, places) }
            if let usage = chunk.usage { update.usage = usage }
            if let reason = chunk.finishReason { finishReason = reason }
            if let error = chunk.error { end(.broken(.errorFrame, detail: error), into: &update) }
        } catch {
            update.text.removeSubrange(textBefore...)
            end(.broken(.errorFrame, detail: OpenAIChunk.malformed), into: &update)
        }
    }

    mutating func end(_ verdict: ParsedUpdate.Verdict, into update: inout ParsedUpdate) {
        guard !isOver else { return }
        isOver = true
        update.verdict = verdict
    }
}
