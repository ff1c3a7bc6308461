extension Substring {
    /// Without the spaces and tabs around it that HTTP allows in list elements and parameters (RFC 9110 §5.6.3).
    var withoutOptionalWhitespace: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
