import CLibSSL

/// The state of one connection to the provider.
struct ProviderConnection {
    enum Phase { case free, head, body, answering }
    var phase = Phase.free
    var head = MessageHead()
    var bodyLeft = 0
    var tokensLeft = 0
    var period: UInt64 = 0
    var pack = 1
    var serial: UInt32 = 0
    /// Bytes that the socket has not accepted yet.
    var pending: [UInt8] = []
    var isBlocked = false
    /// Whether the connection is in `Provider.unpaced`. Stays true after the answer until `writeUnpaced` removes the entry.
    var isUnpaced = false
    var isFirst = true
    /// Whether the end of the answer was written. The answer is complete when `pending` is empty.
    var isClosing = false
    /// The number of remaining tokens at which the connection is cut; -1: it is not cut.
    var breaksAt = -1
    /// Its TLS session, if it has one.
    var session: OpaquePointer?
}
