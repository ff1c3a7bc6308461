extension Unicode.Scalar {
    /// Whether the scalar is drawn as nothing, or only steers what is drawn beside it: zero-width characters, marks of direction, tags. Such
    /// scalars hide text from a reader, or split a word for a filter.
    var isInvisible: Bool {
        switch value {
        case 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F: true
        default: false
        }
    }

    /// U+200D joins emoji, U+200C letters of several scripts: invisible, but a part of ordinary text.
    var isJoiner: Bool { value == 0x200C || value == 0x200D }

    /// Whether the scalar is a variation selector after a character that it does not vary: it is drawn as nothing. A row of them can hide a whole text, a
    /// byte in each, from a reader but not from a model.
    /// - Parameter previous: the scalar before it.
    func isStrayVariationSelector(after previous: Unicode.Scalar?) -> Bool {
        switch value {
        // Emoji, symbols, digits of keycaps, and letters of some scripts have variants.
        case 0xFE00...0xFE0F:
            guard let previous, !previous.properties.isVariationSelector, !previous.isInvisible else { return true }
            return previous.isASCII && !previous.properties.isEmoji
        // Those of ideographs.
        case 0xE0100...0xE01EF: return previous?.properties.isIdeographic != true
        default: return false
        }
    }
}
