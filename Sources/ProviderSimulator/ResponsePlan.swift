/// The planned response to one request: what is sent and the pauses between. Computed from the script and the request alone, without a
/// dialect, a socket or a clock.
struct ResponsePlan: Sendable, Equatable {
    var frames: [Frame]
    var text: String
    var usage: TokenUsage

    /// A pause and what follows it. Everything sent in one frame is one write.
    struct Frame: Sendable, Equatable {
        var after: Milliseconds
        var steps: [Step]
    }

    typealias Milliseconds = Double

    enum Step: Sendable, Equatable {
        case head
        case send(FrameContent)
        /// The regular end of the response.
        case end
        /// Cuts the connection, after half of `inside` if it is not nil.
        case cut(Script.Cut, inside: FrameContent?)
        /// Sends nothing more and keeps the connection open.
        case silence
    }

    /// A part of a response that a dialect can encode.
    enum FrameContent: Sendable, Equatable {
        case opening
        case comment(String)
        /// Reasoning that is not part of the answer.
        case thinking(String)
        case token(String)
        case finish(String)
        case usage(TokenUsage)
        case error(Script.ErrorBody)
        /// An error object without the framing of the stream.
        case bareError(Script.ErrorBody)
        case done
        /// The whole answer to a request that is not streamed.
        case whole(text: String, finishReason: String, TokenUsage)
    }
}

/// Token counts as OpenAI defines them: cached tokens are part of the prompt, reasoning tokens part of the completion.
struct TokenUsage: Sendable, Equatable {
    var prompt: Int
    var completion: Int
    var cached: Int
    /// Tokens of the prompt that were written to the cache.
    var cacheWrite = 0
    var reasoning: Int
}

extension ResponsePlan {
    private enum Default {
        static let firstToken: Milliseconds = 150
        /// 50 tokens/s, a usual pace of providers.
        static let pace: Milliseconds = 20
    }

    init(script: Script, request: ChatRequest) {
        var answer = Answer(script: script, request: request)
        answer.apply(stops: request.stops)
        answer.apply(limit: request.maxTokens)
        text = answer.pieces.joined()
        usage = TokenUsage(
            prompt: script.usage?.promptTokens ?? request.promptTokens,
            completion: script.usage?.completionTokens ?? answer.pieces.count,
            cached: script.usage?.cachedTokens ?? script.cachedTokens ?? 0, cacheWrite: script.cacheWriteTokens ?? 0,
            reasoning: script.usage?.reasoningTokens ?? 0)
        frames = []

        if script.drop == true {
            frames = [Frame(after: script.firstTokenMs ?? 0, steps: [.cut(script.cut ?? .close, inside: nil)])]
        } else if script.hang == true {
            frames = [Frame(after: 0, steps: [.silence])]
        } else if request.isStreamed {
            frames = Self.streamed(answer, script: script, request: request, usage: usage)
        } else {
            frames = Self.whole(answer, script: script, text: text, usage: usage)
        }
    }

    private static func streamed(_ answer: Answer, script: Script, request: ChatRequest, usage: TokenUsage) -> [Frame] {
        var pauses = Pauses(script)
        var frames = [Frame(after: 0, steps: [.head])]
        if script.comments == true { frames.append(Frame(after: 0, steps: [.send(.comment("OPENROUTER PROCESSING"))])) }
        frames.append(Frame(after: pauses.first, steps: [.send(.opening)]))
        if let thinking = script.thinking { frames.append(Frame(after: 0, steps: [.send(.thinking(thinking))])) }
        for (index, piece) in answer.pieces.enumerated() {
            if let fault = fault(after: index, of: answer, script: script) { return frames + fault }
            guard let pause = pauses.before(token: index) else { return frames + [Frame(after: 0, steps: [.silence])] }
            let isGrouped = index % (script.tokensPerWrite ?? 1) != 0
            if isGrouped, let last = frames.indices.last {
                frames[last].after += pause
                frames[last].steps.append(.send(.token(piece)))
            } else {
                frames.append(Frame(after: pause, steps: [.send(.token(piece))]))
            }
        }
        if let fault = fault(after: answer.pieces.count, of: answer, script: script) { return frames + fault }
        guard let pause = pauses.before(token: answer.pieces.count, isEnd: true) else {
            return frames + [Frame(after: 0, steps: [.silence])]
        }
        if script.noFinish != true { frames.append(Frame(after: pause, steps: [.send(.finish(answer.finishReason))])) }
        if request.includesUsage, script.noUsage != true { frames.append(Frame(after: 0, steps: [.send(.usage(usage))])) }
        if script.noDone != true { frames.append(Frame(after: 0, steps: [.send(.done)])) }
        return frames + [Frame(after: 0, steps: [.end])]
    }

    private static func whole(_ answer: Answer, script: Script, text: String, usage: TokenUsage) -> [Frame] {
        var pauses = Pauses(script)
        var total = pauses.first
        let count = answer.pieces.count
        for index in 0...count {
            if index == min(script.cutAfterTokens ?? .max, count), script.cutAfterTokens != nil {
                return [Frame(after: total, steps: [.cut(script.cut ?? .close, inside: nil)])]
            }
            if index == min(script.errorAfterTokens ?? .max, count), script.errorAfterTokens != nil {
                return [Frame(after: total, steps: [.head, .send(.error(script.error ?? .init())), .end])]
            }
            guard let pause = pauses.before(token: index, isEnd: index == count) else { return [Frame(after: total, steps: [.silence])] }
            total += pause
        }
        return [Frame(after: total, steps: [.head, .send(.whole(text: text, finishReason: answer.finishReason, usage)), .end])]
    }

    /// The scripted fault after `index` tokens, if there is one. A number beyond the answer means after its last token.
    private static func fault(after index: Int, of answer: Answer, script: Script) -> [Frame]? {
        let count = answer.pieces.count
        if let cut = script.cutAfterTokens, index == min(cut, count) {
            let next: FrameContent = index < count ? .token(answer.pieces[index]) : .finish(answer.finishReason)
            return [Frame(after: 0, steps: [.cut(script.cut ?? .close, inside: script.cutInsideFrame == true ? next : nil)])]
        }
        if let error = script.errorAfterTokens, index == min(error, count) {
            let done: [Step] = script.errorThenDone == true ? [.send(.done)] : []
            let body = script.error ?? .init()
            let content: FrameContent = script.bareError == true ? .bareError(body) : .error(body)
            return [Frame(after: 0, steps: [.send(content)]), Frame(after: 0, steps: done + [.end])]
        }
        return nil
    }

    /// The pauses of one answer. Must be read in order, because they come from a seeded generator.
    private struct Pauses {
        let first: Milliseconds
        private let pace: Milliseconds
        private let jitter: Milliseconds
        private let script: Script
        private var random: SeededRandom

        init(_ script: Script) {
            first = script.firstTokenMs ?? Default.firstToken
            pace = script.paceMs ?? Default.pace
            jitter = script.jitterMs ?? 0
            random = SeededRandom(seed: script.seed ?? 0)
            self.script = script
        }

        /// The pause in milliseconds before a token or the end; nil: for ever. The first token and the end have no pause of their own.
        mutating func before(token index: Int, isEnd: Bool = false) -> Milliseconds? {
            var pause: Milliseconds = 0
            if index > 0, !isEnd {
                pause = max(0, pace + (jitter > 0 ? Double.random(in: -jitter...jitter, using: &random) : 0))
            }
            guard let stall = script.stallAfterTokens, index == stall || (isEnd && index < stall) else { return pause }
            return script.stallMs.map { pause + $0 }
        }
    }
}
