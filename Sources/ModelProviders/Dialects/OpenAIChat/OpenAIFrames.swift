import CoachCore
import JSON

/// The frames of a streamed Chat Completions answer.
///
/// The answer ends with `[DONE]`, or with the stream, after a `finish_reason`. Without a `finish_reason` it was cut, even with `[DONE]`, which servers also
/// send after answers that they gave up. An error frame is an error, whatever follows it.
struct OpenAIFrames: FrameReader {
    private var finish: OpenAIChunk.Finish?
    private var template = FrameTemplate()
    private var usage = UsageTally()
    /// The frame that is parsed; kept for its buffer.
    private var frame: [UInt8] = []

    var verdictAtEnd: ParsedUpdate.Verdict {
        switch finish {
        case .end(let end): .ended(end)
        case .failure(let reason): .broken(.errorFrame, detail: reason)
        case nil: .cut
        }
    }

    func readUsingTemplate(_ data: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) -> Bool { template.read(data, into: &text) }

    mutating func read(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) throws(JSONError) -> ParsedUpdate.Verdict? {
        if data.elementsEqual("[DONE]".utf8) {
            if usage != UsageTally() { update.usage = usage.classes(OpenAIUsage.inclusion, isFinal: true) }
            return verdictAtEnd
        }
        guard frame.replace(withObject: data) else { return nil }
        let chunk = try OpenAIChunk(frame, text: &update.text)
        if let places = chunk.ordinaryPlaces { template.learn(data, places) }
        update.reasoningBytes += chunk.reasoningBytes
        finish = chunk.finish ?? finish
        if finish != nil { update.hasFinishReason = true }
        if let counts = chunk.usage {
            usage.merge(counts)
            // vLLM can report with every chunk. The report at the end comes with the finish reason, after it, or without a choice.
            update.usage = usage.classes(OpenAIUsage.inclusion, isFinal: finish != nil || !chunk.hasChoices)
        }
        return chunk.error.map(ParsedUpdate.Verdict.failed)
    }
}

/// `EventStreamAnswerReader`, specialized for these frames.
struct OpenAIAnswerReader: AnswerReader {
    private var reader = EventStreamAnswerReader(OpenAIFrames())

    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate) { reader.read(bytes, into: &update) }

    mutating func finish(into update: inout ParsedUpdate) { reader.finish(into: &update) }
}
