import CoachCore
import JSON

/// The frames of a streamed Chat Completions answer.
///
/// The answer ends with `[DONE]`, or with the stream, after a `finish_reason`. Without a `finish_reason` it was cut, even with `[DONE]`, which servers also
/// send after answers that they gave up. An error frame is an error, whatever follows it.
struct OpenAIFrames: FrameReader {
    private var finish: OpenAIChunk.Finish?
    private var template = FrameTemplate()
    /// nil once the answer has begun, and where reasoning does not precede it in the text: then no text is examined.
    private var leading: LeadingReasoning?
    private var usage = UsageTally()
    /// The frame that is parsed; kept for its buffer.
    private var frame: [UInt8] = []

    init(mayBeginWithReasoning: Bool) { leading = mayBeginWithReasoning ? LeadingReasoning() : nil }

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
        let start = update.text.count
        let chunk = try OpenAIChunk(frame, text: &update.text)
        update.reasoningBytes += chunk.reasoningBytes
        if leading != nil { separateReasoning(&update, from: start) }
        if leading == nil, let places = chunk.ordinaryPlaces { template.learn(data, places) }
        finish = chunk.finish ?? finish
        if finish != nil { update.hasFinishReason = true }
        if let counts = chunk.usage {
            usage.merge(counts)
            // vLLM can report with every chunk. The report at the end comes with the finish reason, after it, or without a choice.
            update.usage = usage.classes(OpenAIUsage.inclusion, isFinal: finish != nil || !chunk.hasChoices)
        }
        return chunk.error.map(ParsedUpdate.Verdict.failed)
    }

    /// Frames that are read by the template do not come here, so none is learnt before the answer has begun.
    private mutating func separateReasoning(_ update: inout ParsedUpdate, from start: Int) {
        update.reasoningBytes += leading?.remove(from: &update.text, at: start) ?? 0
        if leading?.hasAnswerBegun == true { leading = nil }
    }

    mutating func end(_ verdict: ParsedUpdate.Verdict, into update: inout ParsedUpdate) {
        guard let held = leading?.held else { return }
        // What may be the beginning of a block is text of an answer that has ended, and is unknown of one that was cut.
        if case .ended = verdict { update.text += held } else { update.reasoningBytes += held.count }
    }
}

/// `EventStreamAnswerReader`, specialized for these frames.
struct OpenAIAnswerReader: AnswerReader {
    private var reader: EventStreamAnswerReader<OpenAIFrames>

    init(mayBeginWithReasoning: Bool) { reader = EventStreamAnswerReader(OpenAIFrames(mayBeginWithReasoning: mayBeginWithReasoning)) }

    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate) { reader.read(bytes, into: &update) }

    mutating func finish(into update: inout ParsedUpdate) { reader.finish(into: &update) }
}
