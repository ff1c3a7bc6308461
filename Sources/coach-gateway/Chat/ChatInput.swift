/// What a line that was typed into `chat` means.
enum ChatInput: Equatable {
    case nothing
    case message(String)
    case new
    case retry
    case help
    case quit
    /// Begins with a slash and is no command: most often a slip, and never meant for the coach.
    case unknown(String)

    init(_ line: String) {
        let text = line.trimmingSpaces
        switch text {
        case "": self = .nothing
        case "/new": self = .new
        case "/retry": self = .retry
        case "/help": self = .help
        case "/quit": self = .quit
        case _ where text.hasPrefix("//"): self = .message(String(text.dropFirst()))
        case _ where text.hasPrefix("/"): self = .unknown(String(text.prefix { $0 != " " }))
        default: self = .message(line)
        }
    }

    static let helpText = """
        /new     begin another conversation
        /retry   read on after a lost connection, or answer the last message again
        /help    this text
        /quit    leave (also end of input)
        Ctrl-C stops an answer that is coming; a second one leaves. A message that begins with a slash is written with two.
        """
}

extension String {
    fileprivate var trimmingSpaces: String {
        var rest = self[...].drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
