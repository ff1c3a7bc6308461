/// What a transfer has received and not yet handed over. Belongs to the reactor's thread.
final class RunningTransfer: CurlReceiver {
    let id: UInt64
    let easy: CurlEasy
    private let handlers: TransferHandlers
    private let noteNews: (RunningTransfer) -> Void
    private var reader = HeadReader()
    private var head: TransferHead?
    private var body: [UInt8] = []
    private var hasNews = false

    /// A buffer that grew beyond this for one large read is not kept, bytes.
    private static let largestKeptBuffer = 64 << 10

    init(id: UInt64, easy: CurlEasy, handlers: TransferHandlers, noteNews: @escaping (RunningTransfer) -> Void) {
        self.id = id
        self.easy = easy
        self.handlers = handlers
        self.noteNews = noteNews
    }

    func received(headerLine: UnsafeRawBufferPointer) {
        guard let head = reader.line(headerLine) else { return }
        self.head = head
        news()
    }

    func received(body bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        body.append(contentsOf: bytes)
        news()
    }

    private func news() {
        guard !hasNews else { return }
        hasNews = true
        noteNews(self)
    }

    /// After `end` nothing is handed over: it has taken what there was.
    func handOver() {
        hasNews = false
        if let head {
            self.head = nil
            handlers.head(head)
        }
        guard !body.isEmpty else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &body)
        bytes.withUnsafeBytes { handlers.bytes($0) }
        guard bytes.capacity <= Self.largestKeptBuffer else { return }
        bytes.removeAll(keepingCapacity: true)
        swap(&bytes, &body)
    }

    /// Comes once. A cancelled transfer drops what it has not handed over.
    func end(_ end: TransferEnd) {
        if end == .cancelled {
            head = nil
            body = []
        } else {
            handOver()
        }
        handlers.end(end)
    }
}
