extension Script {
    /// The HTTP error to answer with; nil also when nothing is answered at all.
    var answeredError: HTTPError? { hang == true || drop == true ? nil : httpError }

    /// The most bytes of one write; nil: each frame is one write.
    var writeLimit: Int? { bytewise == true ? 1 : chunkBytes }
}

extension Script.HTTPError {
    /// `retryAfter` as headers.
    var retryHeaders: [(name: String, value: String)] {
        guard let seconds = retryAfter else { return [] }
        let whole = seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
        return [("retry-after", whole), ("retry-after-ms", "\(Int(seconds * 1000))")]
    }
}
