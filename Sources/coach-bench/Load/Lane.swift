/// One stream of a load run: its connection and where it is in its answer.
struct Lane {
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
    /// On this connection an answer was read before: it may have been closed meanwhile, which is nobody's fault.
    var isUsed = false
    /// The client leaves when it has so many tokens; 0: it stays.
    var leavesAt = 0
    var lastByteAt: UInt64 = 0
    /// When its request was due, if requests come at a rate.
    var dueAt: UInt64 = 0
}
