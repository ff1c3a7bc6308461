/// The state of one stream of a load run: its connection and its current response.
struct ClientStream {
    enum Phase { case idle, connecting, sending, head, body, over }
    var phase = Phase.idle
    var descriptor: Int32 = -1
    var request = 0
    var sent = 0
    var head = MessageHead()
    var reader = BodyReader()
    var scanner = Stamp.Scanner()
    var status = 0
    var closesAfter = false
    var tokens = 0
    var answers = 0
    var sentAt: UInt64 = 0
    var lastTokenAt: UInt64 = 0
    var isAnswered = false
    /// Whether an earlier response was read on this connection. The server may then close it while it is idle, which is not an error.
    var isUsed = false
    /// The number of tokens after which the client closes the connection; 0: it reads to the end.
    var disconnectsAt = 0
    var lastByteAt: UInt64 = 0
    /// The scheduled time of the request in nanoseconds, if requests are sent at a rate.
    var dueAt: UInt64 = 0
}
