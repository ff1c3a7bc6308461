/// Errors as people make them when they type.
enum TypingErrors {
    /// One letter in so many is mistyped.
    private static let interval = 20
    private static let keyboard = ["qwertyuiop", "asdfghjkl", "zxcvbnm"]

    /// The text with every twentieth letter swapped with the next one, left out, doubled or replaced by its neighbour on the keyboard, in turn.
    /// - Parameter place: with which letter and error it begins.
    static func mistype(_ text: String, place: Int) -> String {
        var letters = 7 * place
        var characters = Array(text)
        var index = 0
        while index < characters.count {
            defer { index += 1 }
            guard characters[index].isLetter else { continue }
            letters += 1
            guard letters.isMultiple(of: interval) else { continue }
            switch (letters / interval) % 4 {
            case 0 where index + 1 < characters.count && characters[index + 1].isLetter:
                characters.swapAt(index, index + 1)
                // The letter that comes next is the one that was swapped.
                index += 1
                letters += 1
            case 1: characters[index] = neighbour(of: characters[index])
            case 2:
                characters.insert(characters[index], at: index)
                index += 1
            default:
                characters.remove(at: index)
                index -= 1
            }
        }
        return String(characters)
    }

    private static func neighbour(of character: Character) -> Character {
        for row in keyboard {
            let keys = Array(row)
            if let place = keys.firstIndex(of: character) { return place > 0 ? keys[place - 1] : keys[1] }
        }
        return "x"
    }
}
