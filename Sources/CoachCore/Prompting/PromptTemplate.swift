/// A text with `{{named}}` placeholders. Filling is one pass: placeholders inside values are not replaced.
struct PromptTemplate: Sendable, Equatable {
    private enum Piece: Sendable, Equatable {
        case text(String)
        case placeholder(String)
    }

    private var pieces: [Piece] = []
    /// A `{{` has no `}}`: what follows would reach the model as it stands.
    private(set) var isUnclosed = false

    init(_ text: String) {
        var rest = Substring(text.trimmingSuffix { $0.isWhitespace })
        while let open = rest.firstRange(of: "{{"), let close = rest[open.upperBound...].firstRange(of: "}}") {
            pieces.append(.text(String(rest[..<open.lowerBound])))
            pieces.append(.placeholder(String(rest[open.upperBound..<close.lowerBound])))
            rest = rest[close.upperBound...]
        }
        isUnclosed = rest.firstRange(of: "{{") != nil
        pieces.append(.text(String(rest)))
    }

    /// Names of the placeholders, in order, with repetition.
    var placeholders: [String] {
        pieces.compactMap { piece in
            if case .placeholder(let name) = piece { return name }
            return nil
        }
    }

    /// Replaces every placeholder. One without a value becomes empty; `PromptTemplates` rejects unknown placeholders at load.
    func filled(_ values: [String: String] = [:]) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .placeholder(let name): values[name] ?? ""
            }
        }.joined()
    }

}

extension String {
    fileprivate func trimmingSuffix(while matches: (Character) -> Bool) -> Substring {
        var end = endIndex
        while end > startIndex, matches(self[index(before: end)]) { end = index(before: end) }
        return self[..<end]
    }
}

extension Substring {
    fileprivate func firstRange(of mark: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(mark) { return start..<index(start, offsetBy: mark.count) }
            start = index(after: start)
        }
        return nil
    }
}
