import GatewayAPI

/// The events of an answer as text for a terminal. Pure.
struct AnswerText {
    private var wrap: WordWrap
    private let width: Int?
    /// Something stands on the current line.
    private var isInLine = false

    init(width: Int?) {
        self.width = width
        wrap = WordWrap(width: width)
    }

    mutating func text(of event: StreamEvent) -> String {
        let text =
            switch event {
            // Without a domain the router abstains, or the user may be in danger.
            case .start(let start): notice(start.disclosure) + (start.domain.map { wrap.add("[\($0)] ") } ?? "")
            case .safety(let card): end() + self.card(card)
            case .token(let content): wrap.add(content)
            case .usage: ""
            case .done(let done): end(done.finishReason == .stop ? "" : " (\(done.finishReason.rawValue))")
            case .error(let failure): end() + failure.userMessage + "\n"
            }
        if let last = text.last { isInLine = !last.isNewline }
        return text
    }

    /// What was held back, and the end of the line.
    mutating func end(_ remark: String = "") -> String {
        let rest = wrap.finish() + remark
        wrap = WordWrap(width: width)
        defer { isInLine = false }
        return rest.isEmpty && !isInLine ? "" : rest + "\n"
    }

    /// The gateway gives the notice of talking to a machine once, and counts it as shown.
    private func notice(_ disclosure: StreamStart.Disclosure?) -> String { disclosure.map { wrapped($0.text) + "\n\n" } ?? "" }

    private func card(_ card: StreamSafety) -> String {
        var lines = [wrapped(card.message)]
        for resource in card.resources {
            let facts = [resource.phone, resource.sms.map { "text \($0)" }, resource.url, resource.hours]
            let ways = facts.compactMap { $0 }.joined(separator: " · ")
            lines.append(wrapped("  " + (ways.isEmpty ? resource.name : "\(resource.name): \(ways)")))
        }
        return lines.joined(separator: "\n") + "\n\n"
    }

    private func wrapped(_ text: String) -> String {
        var wrap = WordWrap(width: width)
        return wrap.add(text) + wrap.finish()
    }
}

extension String {
    /// Without what a terminal obeys, which a model or a proxy may send: escape sequences can write the clipboard.
    var withoutTerminalControls: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.filter { scalar in
                    scalar == "\n" || scalar == "\t" || !(scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value))
                }))
    }
}
