import CoachCore
import EventStream
import JSON

/// Reads the frames of one answer in a dialect whose frames are JSON objects.
protocol FrameReader {
    /// Reads a frame that differs from the last one only in its text, without parsing it. The hot path.
    /// - Returns: false when the frame must be parsed; then nothing was read.
    func readUsingTemplate(_ data: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) -> Bool
    /// Reads one frame; the verdict when the answer is over. After a throw, `update.text` may hold a part of the frame's.
    mutating func read(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) throws(JSONError) -> ParsedUpdate.Verdict?
    /// What the end of the stream means after the frames so far.
    var verdictAtEnd: ParsedUpdate.Verdict { get }
    /// The answer is over: adds what was held back until then. May come twice, when what the first call added was not used.
    mutating func end(_ verdict: ParsedUpdate.Verdict, into update: inout ParsedUpdate)
}

extension FrameReader {
    mutating func end(_ verdict: ParsedUpdate.Verdict, into update: inout ParsedUpdate) {}

    func readUsingTemplate(_ data: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) -> Bool { false }
}

/// Reads an answer that consists of server-sent events with a JSON object each.
///
/// A frame that is not JSON is an error, because it may have held text. An object in the stream without `data:` is a frame too: some servers send
/// errors in this way. Called through `any AnswerReader`, this type is not specialized and needs twice the instructions; a dialect whose answers are to
/// cost less wraps it in a reader of its own.
struct EventStreamAnswerReader<Frames: FrameReader>: AnswerReader {
    private var parser = EventStreamParser(limit: longestFrame)
    private var progress: Progress

    fileprivate struct Progress {
        var frames: Frames
        var bareObject = BareObject()
        var surrogates = SplitSurrogates()
        var isOver = false
        var hasFrames = false
        /// There were lines that are neither fields of an event stream nor part of an object.
        var hasOtherLines = false
    }

    init(_ frames: Frames) { progress = Progress(frames: frames) }

    mutating func read(_ bytes: UnsafeRawBufferPointer, into update: inout ParsedUpdate) {
        guard !progress.isOver else { return }
        do throws(EventStreamError) {
            try parser.feedData(bytes) {
                progress.take($0, into: &update)
            } onUnknownLine: {
                progress.take(line: $0, into: &update)
            }
        } catch {
            progress.end(.tooLong, into: &update)
        }
    }

    mutating func finish(into update: inout ParsedUpdate) {
        guard !progress.isOver else { return }
        // A last event without its blank line counts only if its frame is complete. An incomplete one means a cut stream, which is reported below.
        var last = ParsedUpdate()
        try? parser.finish { event in
            event.data.withUnsafeBufferPointer { progress.take($0, into: &last) }
        } onUnknownLine: {
            progress.take(line: $0, into: &last)
        }
        if last.verdict == .malformed {
            progress.isOver = false
        } else {
            update.text += last.text
            update.usage = last.usage ?? update.usage
            update.reasoningBytes += last.reasoningBytes
            update.verdict = last.verdict ?? update.verdict
        }
        progress.end(progress.verdictAtEnd, into: &update)
    }
}

/// In bytes. Real frames are much smaller: the largest ones have log probabilities of one token, which no request asks for.
private let longestFrame = 256 << 10

extension EventStreamAnswerReader.Progress {
    /// A response with other lines and no frame is no event stream, such as a page or an error in another form.
    var verdictAtEnd: ParsedUpdate.Verdict { hasOtherLines && !hasFrames ? .notAnEventStream : frames.verdictAtEnd }

    mutating func take(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) {
        guard !isOver, surrogates.isWaiting || !frames.readUsingTemplate(data, into: &update.text) else { return }
        hasFrames = true
        let textBefore = update.text.count
        do throws(JSONError) {
            let verdict = try frames.read(data, into: &update)
            surrogates.repair(&update.text, from: textBefore)
            if let verdict { end(verdict, into: &update) }
        } catch {
            update.text.removeSubrange(textBefore...)
            end(.malformed, into: &update)
        }
    }

    /// - Parameter line: is no field of an event stream.
    mutating func take(line: UnsafeRawBufferPointer, into update: inout ParsedUpdate) {
        guard let object = bareObject.take(line) else {
            hasOtherLines = true
            return
        }
        object.withUnsafeBufferPointer { take($0, into: &update) }
    }

    mutating func end(_ verdict: ParsedUpdate.Verdict, into update: inout ParsedUpdate) {
        guard !isOver else { return }
        isOver = true
        frames.end(verdict, into: &update)
        surrogates.finish(&update.text)
        update.verdict = verdict
    }
}

extension [UInt8] {
    /// Takes a frame's bytes in place of those of the last one, and keeps the buffer. False, without a change, when the frame is no object: some servers
    /// keep the connection open with data that is empty or is words. The first character after white space tells (RFC 8259 §2); the parser refuses
    /// other control characters.
    mutating func replace(withObject frame: UnsafeBufferPointer<UInt8>) -> Bool {
        guard frame.first(where: { $0 > UInt8(ascii: " ") }) == UInt8(ascii: "{") else { return false }
        removeAll(keepingCapacity: true)
        append(contentsOf: frame)
        return true
    }
}
