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
}
