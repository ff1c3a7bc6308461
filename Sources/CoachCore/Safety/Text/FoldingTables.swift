/// Lookup tables of `ScalarFolding`.
enum FoldingTables {
    /// Marks a scalar of a Latin block that has no single base letter.
    static let unfolded = UInt8(ascii: "?")

    /// U+00C0–U+024F: the base letter of the compatibility decomposition (NFKD) in lower case; for letters with a stroke the similar letter.
    static let latin = Array(
        """
        aaaaaa?ceeeeiiii?nooooo?ouuuuy??aaaaaa?ceeeeiiii?nooooo?ouuuuy?yaaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii??jjkk?llllll\
        ??llnnnnnn???oooooo??rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs?????????????????ff?????????????oo?????????????uu??????????????\
        ??????????????aaiioouuuuuuuuuu?aaaa????ggkkoooo??j???gg??nnaa??ooaaaaeeeeiiiioooorrrruuuusstt??hh??????aaeeooooooooyy???????????\
        ?????????????????
        """.utf8)

    /// U+1E00–U+1EFF: the same.
    static let latinAdditional = Array(
        """
        aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv\
        wwwwwwwwwwxxxxyyzzzzzzhtwy?s????aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy??????
        """.utf8)

    /// U+FB00–U+FB06, spelled out.
    static let ligatures: [[UInt32]] = ["ff", "fi", "fl", "ffi", "ffl", "st", "st"].map { $0.utf8.map(UInt32.init) }

    /// Letters of other alphabets and letter-like symbols that look like a Latin letter, mapped to it.
    static let homoglyphs: [UInt32: UInt32] = {
        let pairs: [(String, String)] = [
            ("аАαΑ", "a"), ("вВΒ", "b"), ("сСϲ", "c"), ("ԁ", "d"), ("еЕёЁεΕ", "e"), ("ԍ", "g"), ("нНΗһ", "h"), ("іІїιΙ", "i"),
            ("јЈ", "j"), ("кКκΚ", "k"), ("ӏ", "l"), ("мМΜ", "m"), ("Νη", "n"), ("оОοΟσ", "o"), ("рРρΡ", "p"), ("ԛ", "q"), ("ѕЅ", "s"),
            ("тТτΤ", "t"), ("υ", "u"), ("νѵ", "v"), ("ԝω", "w"), ("хХχΧ", "x"), ("уУγΥ", "y"), ("Ζ", "z"),
            ("ᴀ", "a"), ("ᴄ", "c"), ("ᴅ", "d"), ("ᴇ", "e"), ("ᴊ", "j"), ("ᴋ", "k"), ("ᴍ", "m"), ("ᴏ", "o"),
            ("ℂℭ", "c"), ("ℯℰ", "e"), ("ℱ", "f"), ("ℊ", "g"), ("ℋℌℍℎ", "h"), ("ℐℑ", "i"), ("ℒℓ", "l"), ("ℳ", "m"), ("ℕ", "n"), ("ℴ", "o"),
            ("ℙ", "p"), ("ℚ", "q"), ("ℛℜℝ", "r"), ("ℤℨ", "z"),
        ]
        var table: [UInt32: UInt32] = [:]
        for (homoglyphs, letter) in pairs {
            for scalar in homoglyphs.unicodeScalars { table[scalar.value] = letter.unicodeScalars.first?.value }
        }
        return table
    }()

    /// Names of the emoji that the grammar uses. All other emoji only separate words.
    static let emoji: [UInt32: String] = [
        0x1F48A: "pill", 0x1F489: "syringe", 0x1F52A: "knife", 0x1F5E1: "knife", 0x1FA92: "razor", 0x1F52B: "gun", 0x1FAA2: "rope",
        0x1F494: "heartbreak", 0x1FA78: "blood", 0x26B0: "coffin", 0x1FAA6: "grave", 0x1F480: "skull", 0x2620: "skull", 0x1F940: "wilted",
        0x1F622: "cry", 0x1F62D: "sob", 0x1F602: "laugh", 0x1F923: "laugh", 0x1F606: "laugh", 0x1F605: "laugh", 0x1F639: "laugh",
    ]
}
