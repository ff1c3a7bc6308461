import CoachCore
import EventStream
import JSON

/// Reads the frames of one answer in a dialect whose frames are JSON objects.
protocol FrameReader {
    /// Reads a frame that is like the last one but for its text; false, and nothing read, when it must be parsed. The hot path.
    func readAlike(_ data: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) -> Bool
    /// Reads one frame; the verdict when the answer is over. After a throw, `update.text` may hold a part of the frame's.
    mutating func read(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) throws(JSONError) -> ParsedUpdate.Verdict?
    /// What the end of the stream means after the frames so far.
    var verdictAtEnd: ParsedUpdate.Verdict { get }
}

extension FrameReader {
    func readAlike(_ data: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) -> Bool { false }
}

/// Reads an answer that is server-sent events with a JSON object each. Called through `any AnswerReader` it runs unspecialized, at twice the instructions;
/// a dialect whose answers are to cost less wraps it in a reader of its own.
///
/// A frame that is not JSON is an error, because it may have held text. An object that stands bare in the stream, without `data:`, is a frame,
/// too: some servers send errors so.
struct EventStreamAnswerReader<Frames: FrameReader>: AnswerReader {
    private var parser = EventStreamParser(limit: longestFrame)
    private var progress: Progress

    fileprivate struct Progress {
        var frames: Frames
        var bareObject = BareObject()
        var isOver = false
        var hasFrames = false
        /// Lines that are no fields, nor make an object.
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
        // What stands behind the last blank line is either whole or nothing; half of it is no error but a cut, which is reported below.
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

/// No frame comes near it: the largest carry one token's log probabilities, which we never ask for.
private let longestFrame = 256 << 10

extension EventStreamAnswerReader.Progress {
    /// A page, or an error in another form, in place of an event stream is no answer.
    var verdictAtEnd: ParsedUpdate.Verdict { hasOtherLines && !hasFrames ? .notAnEventStream : frames.verdictAtEnd }

    mutating func take(_ data: UnsafeBufferPointer<UInt8>, into update: inout ParsedUpdate) {
        guard !isOver, !frames.readAlike(data, into: &update.text) else { return }
        hasFrames = true
        let textBefore = update.text.count
        do throws(JSONError) {
            if let verdict = try frames.read(data, into: &update) { end(verdict, into: &update) }
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
        update.verdict = verdict
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether it is an object, after white space (RFC 8259 §2); the parser refuses other control characters. Some servers keep the line alive with
    /// empty or wordy data.
    var isJSONObject: Bool { first { $0 > UInt8(ascii: " ") } == UInt8(ascii: "{") }
}
